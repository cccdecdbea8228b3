import { useEffect, useRef, useState } from "preact/hooks";

/** A run over the frames of a camera, of which one is sent when the answer to the last one has come. */
export interface Live {
  /** The input that gets the frames; undefined = none does. */
  readonly input: string | undefined;
  /** Why the last run ended by itself and at which input, if no answer says it. */
  readonly failed: { readonly input: string; readonly problem: string } | undefined;
  readonly start: (input: string, video: HTMLVideoElement) => void;
  readonly stop: () => void;
}

/** A frame on its way to an input. */
interface Frame {
  readonly input: string;
  readonly photo: File;
  /** Aborts if its answer is not wanted any more. */
  readonly signal: AbortSignal;
}

/**
 * Frames of a camera, until a person has had enough, the page is hidden or left, or one is not answered: `runFrame`
 * resolves with false then.
 */
export function useLive(runFrame: (frame: Frame) => Promise<boolean>): Live {
  const [input, setInput] = useState<string>();
  const [failed, setFailed] = useState<Live["failed"]>();
  // Each frame goes with what the form has by then.
  const newest = useRef(runFrame);
  newest.current = runFrame;
  const running = useRef<AbortController>(undefined);
  const stop = () => {
    running.current?.abort();
    setInput(undefined);
  };
  useEffect(() => {
    const look = () => document.hidden && stop();
    document.addEventListener("visibilitychange", look);
    return () => {
      document.removeEventListener("visibilitychange", look);
      running.current?.abort();
    };
  }, []);
  const start = async (name: string, video: HTMLVideoElement) => {
    running.current?.abort();
    const own = new AbortController();
    running.current = own;
    setInput(name);
    setFailed(undefined);
    const { signal } = own;
    try {
      let goesOn = true;
      while (goesOn) {
        await new Promise(requestAnimationFrame);
        if (signal.aborted) return;
        // It is empty until its first frame has come.
        if (video.videoWidth > 0) goesOn = await newest.current({ input: name, photo: await photoOf(video), signal });
      }
    } catch (reason) {
      if (!signal.aborted) setFailed({ input: name, problem: problemOf(reason) });
    } finally {
      if (running.current === own) setInput(undefined);
    }
  };
  return { input, failed, start: (name, video) => void start(name, video), stop };
}

function problemOf(reason: unknown): string {
  const why = reason instanceof Error ? reason.message : String(reason);
  return `Live has ended, since a frame of the camera cannot be sent: ${why} Start it again, or take a photo.`;
}

interface CameraFieldProps {
  readonly name: string;
  readonly onTake: (photo: File) => void;
  /** Undefined for models whose answers come in parts. */
  readonly live: Live | undefined;
}

/**
 * A button that takes a photo by a camera of the browser's machine. Browsers have
 * cameras for pages over TLS or of this machine alone.
 */
export function CameraField({ name, onTake, live }: CameraFieldProps) {
  const video = useRef<HTMLVideoElement>(null);
  const { stream, problem, open, close } = useCamera(video);
  if (navigator.mediaDevices === undefined) return null;
  const isLive = live?.input === name;
  const liveProblem = live?.failed?.input === name ? live.failed.problem : "";
  const end = () => {
    if (isLive) live.stop();
    close();
  };
  const take = async () => {
    if (video.current !== null) onTake(await photoOf(video.current));
    end();
  };
  const toggle = () => {
    if (isLive) live.stop();
    else if (video.current !== null) live?.start(name, video.current);
  };
  return (
    <div>
      {stream === undefined && (
        <button type="button" onClick={() => void open()}>
          Use the camera
        </button>
      )}
      {stream !== undefined && (
        <>
          <video ref={video} autoplay muted playsInline aria-label={`Camera for ${name}`} />
          <div class="buttons">
            <button type="button" onClick={() => void take()}>
              Take the photo
            </button>
            {live !== undefined && (
              <button type="button" aria-pressed={isLive} onClick={toggle}>
                Live
              </button>
            )}
            <button type="button" onClick={end}>
              Close the camera
            </button>
          </div>
        </>
      )}
      {[problem, liveProblem].map(
        (text) =>
          text !== "" && (
            <p key={text} class="notice bad" role="alert">
              {text}
            </p>
          ),
      )}
    </div>
  );
}

/** A camera that is open until it is closed. */
function useCamera(video: { readonly current: HTMLVideoElement | null }) {
  const [stream, setStream] = useState<MediaStream>();
  const [problem, setProblem] = useState("");
  const close = () => setStream(undefined);
  const isGone = useRef(false);
  useEffect(
    () => () => {
      isGone.current = true;
    },
    [],
  );
  useEffect(() => {
    if (video.current !== null && stream !== undefined) video.current.srcObject = stream;
    return () => endTracks(stream);
  }, [stream]);
  const open = () =>
    navigator.mediaDevices.getUserMedia({ video: true }).then(
      (opened) => {
        // A person may permit it after the field has gone.
        if (isGone.current) return endTracks(opened);
        setProblem("");
        setStream(opened);
      },
      (reason) =>
        setProblem(`The camera cannot be used: ${reason.message}. Allow it in the browser, or choose a file.`),
    );
  return { stream, problem, open, close };
}

function endTracks(stream: MediaStream | undefined): void {
  for (const track of stream?.getTracks() ?? []) track.stop();
}

async function photoOf(video: HTMLVideoElement): Promise<File> {
  const canvas = document.createElement("canvas");
  canvas.width = video.videoWidth;
  canvas.height = video.videoHeight;
  canvas.getContext("2d")?.drawImage(video, 0, 0);
  const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, "image/jpeg", 0.95));
  return new File(blob === null ? [] : [blob], "camera.jpg", { type: "image/jpeg" });
}
