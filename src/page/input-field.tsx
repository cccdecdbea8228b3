import type { RefObject } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { sizeText } from "../platform/text/size-text.ts";
import type { PageTensor } from "../protocols/page/page-data.ts";
import { chooseFile, type InputState } from "./input-state.ts";

interface InputFieldProps {
  readonly tensor: PageTensor;
  readonly value: InputState;
  readonly onChange: (value: InputState) => void;
}

/** The fields of one input: its values and its shape, or a file. */
export function InputField({ tensor, value, onChange }: InputFieldProps) {
  const { name, datatype, takesImages, isOptional } = tensor;
  const isText = datatype === "BYTES";
  return (
    <fieldset>
      <legend>
        {name} <span class="facts">{datatype || "any type"}</span>
      </legend>
      {isOptional && (
        <label class="check">
          <input
            type="checkbox"
            checked={value.isOmitted === true}
            onChange={(event) => onChange({ ...value, isOmitted: event.currentTarget.checked })}
          />
          leave it out: the model has a value of its own
        </label>
      )}
      {(takesImages || isText) && <FileField tensor={tensor} value={value} onChange={onChange} />}
      {value.file === undefined && value.isOmitted !== true && (
        <div class="values">
          <label>
            {isText ? "Text" : "Values"}
            <textarea
              rows={isText ? 2 : 3}
              spellcheck={false}
              value={value.values}
              onInput={(event) => onChange({ ...value, values: event.currentTarget.value })}
            />
          </label>
          <label class="shape">
            Shape
            <input value={value.shape} onInput={(event) => onChange({ ...value, shape: event.currentTarget.value })} />
          </label>
        </div>
      )}
    </fieldset>
  );
}

interface FileFieldProps {
  readonly tensor: PageTensor;
  readonly value: InputState;
  readonly onChange: (value: InputState) => void;
}

/** A place for a file: dropped, pasted, or chosen. */
function FileField({ tensor, value, onChange }: FileFieldProps) {
  const { name, takesImages, datatype } = tensor;
  const [isOver, setOver] = useState(false);
  const [problem, setProblem] = useState("");
  const id = useId();
  const take = async (list: ArrayLike<File> | null | undefined) => {
    const file = list?.[0];
    if (file === undefined) return;
    try {
      onChange({ ...value, file: await chooseFile(file), isOmitted: false });
      setProblem("");
    } catch {
      setProblem(`The browser cannot read ${file.name}: it is a folder, or not there any more.`);
    }
  };
  const place = useRef<HTMLDivElement>(null);
  usePaste(place, (files) => void take(files));
  const { file } = value;
  const forImages = isForImages(tensor);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: what can be dropped here can also be chosen with the field in it
    <div
      ref={place}
      class={`drop${forImages ? " images" : ""}${isOver ? " over" : ""}`}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        void take(event.dataTransfer?.files);
      }}
    >
      {file?.imageUrl !== undefined && <img src={file.imageUrl} alt={`${name}: ${file.name}`} />}
      <div>
        <label for={id}>{`${takesImages ? "Image" : "File"} for ${name}`}</label>
        <input
          id={id}
          type="file"
          accept={takesImages ? "image/*" : undefined}
          onChange={(event) => void take(event.currentTarget.files)}
        />
        <p class="facts" role="status">
          {file === undefined
            ? "Drop a file here, paste one, or choose one."
            : `${file.name}, ${sizeText(file.bytes.length)}`}
        </p>
        {problem !== "" && (
          <p class="notice bad" role="alert">
            {problem}
          </p>
        )}
        {forImages && <CameraField name={name} onTake={(photo) => void take([photo])} />}
        {file !== undefined && datatype === "BYTES" && (
          <label class="check">
            <input
              type="checkbox"
              checked={value.isEncoded === true}
              onChange={(event) => onChange({ ...value, isEncoded: event.currentTarget.checked })}
            />
            as base64 text: the model decodes it itself
          </label>
        )}
        {file !== undefined && (
          <button type="button" onClick={() => onChange({ ...value, file: undefined })}>
            Without the file
          </button>
        )}
      </div>
    </div>
  );
}

/** Hooks that take images as bytes say so by the name alone. */
function isForImages({ name, takesImages }: PageTensor): boolean {
  return takesImages || /image|photo|picture|frame/i.test(name);
}

/**
 * Takes the files that are pasted into a place for files. What is pasted elsewhere on the page is for its first place
 * for images, or else for its first place.
 */
function usePaste(place: RefObject<HTMLElement | null>, take: (files: FileList) => void): void {
  useEffect(() => {
    const paste = (event: ClipboardEvent) => {
      const files = event.clipboardData?.files;
      if (files === undefined || files.length === 0 || placeFor(event.target) !== place.current) return;
      event.preventDefault();
      take(files);
    };
    document.addEventListener("paste", paste);
    return () => document.removeEventListener("paste", paste);
  });
}

function placeFor(target: EventTarget | null): Element | null {
  const around = target instanceof Element ? target.closest(".drop") : null;
  return around ?? document.querySelector(".drop.images") ?? document.querySelector(".drop");
}

/**
 * A button that takes a photo by a camera of the browser's machine. Browsers have
 * cameras for pages over TLS or of this machine alone.
 */
function CameraField({ name, onTake }: { readonly name: string; readonly onTake: (photo: File) => void }) {
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
