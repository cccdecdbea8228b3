import { useId, useState } from "preact/hooks";
import type { PageTensor } from "../protocols/page/page-data.ts";
import { sizeText } from "../text/size-text.ts";
import { CameraField } from "./camera-field.tsx";
import { chooseFile, type InputState } from "./input-state.ts";

interface FileFieldProps {
  readonly tensor: PageTensor;
  readonly value: InputState;
  readonly onChange: (value: InputState) => void;
}

/** A place for a file: dropped, pasted, or chosen. */
export function FileField({ tensor, value, onChange }: FileFieldProps) {
  const { name, takesImages } = tensor;
  const [isOver, setOver] = useState(false);
  const id = useId();
  const take = async (list: ArrayLike<File> | null | undefined) => {
    const file = list?.[0];
    if (file !== undefined) onChange({ ...value, file: await chooseFile(file), isOmitted: false });
  };
  const { file } = value;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: what can be dropped or pasted here can also be chosen with the field in it
    <div
      class={isOver ? "drop over" : "drop"}
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
      onPaste={(event) => {
        if (event.clipboardData?.files.length) event.preventDefault();
        void take(event.clipboardData?.files);
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
        {isForImages(tensor) && <CameraField name={name} onTake={(picture) => void take([picture])} />}
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
