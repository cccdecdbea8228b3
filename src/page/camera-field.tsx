import { useEffect, useRef, useState } from "preact/hooks";

/**
 * A button that takes a photo by a camera of the browser's machine. Browsers have
 * cameras for pages over TLS or of this machine alone.
 */
export function CameraField({ name, onTake }: { readonly name: string; readonly onTake: (photo: File) => void }) {
  const video = useRef<HTMLVideoElement>(null);
  const [stream, setStream] = useState<MediaStream>();
  const [problem, setProblem] = useState("");
  useEffect(() => {
    if (video.current !== null && stream !== undefined) video.current.srcObject = stream;
    return () => {
      for (const track of stream?.getTracks() ?? []) track.stop();
    };
  }, [stream]);
  if (navigator.mediaDevices === undefined) return null;
  const open = () =>
    navigator.mediaDevices.getUserMedia({ video: true }).then(
      (opened) => {
        setProblem("");
        setStream(opened);
      },
      (reason) =>
        setProblem(`The camera cannot be used: ${reason.message}. Allow it in the browser, or choose a file.`),
    );
  const take = async () => {
    if (video.current !== null) onTake(await photoOf(video.current));
    setStream(undefined);
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
          <button type="button" onClick={() => void take()}>
            Take the photo
          </button>
        </>
      )}
      {problem !== "" && (
        <p class="notice bad" role="alert">
          {problem}
        </p>
      )}
    </div>
  );
}

async function photoOf(video: HTMLVideoElement): Promise<File> {
  const canvas = document.createElement("canvas");
  canvas.width = video.videoWidth;
  canvas.height = video.videoHeight;
  canvas.getContext("2d")?.drawImage(video, 0, 0);
  const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, "image/jpeg", 0.95));
  return new File(blob === null ? [] : [blob], "camera.jpg", { type: "image/jpeg" });
}
