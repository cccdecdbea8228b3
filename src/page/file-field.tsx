import { useId, useRef, useState } from "preact/hooks";
import type { PageTensor } from "../protocols/page/page-data.ts";
import { sizeText } from "../text/size-text.ts";
import { CameraField } from "./camera-field.tsx";
import { chooseFile, type InputState } from "./input-state.ts";
import { usePaste } from "./use-paste.ts";

interface FileFieldProps {
  readonly tensor: PageTensor;
  readonly value: InputState;
  readonly onChange: (value: InputState) => void;
}

/** A place for a file: dropped, pasted, or chosen. */
export function FileField({ tensor, value, onChange }: FileFieldProps) {
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
