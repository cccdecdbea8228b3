import type { RefObject } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { sizeText } from "../platform/text/size-text.ts";
import type { PageTensor } from "../protocols/page/page-data.ts";
import { CameraField, type Live } from "./camera-field.tsx";
import { toGreyFile } from "./grey-image.ts";
import { type ChosenFile, chooseFile, type InputState, withShape, withValues } from "./input-state.ts";
import { useObjectUrl } from "./output-view.tsx";

interface InputFieldProps {
  readonly tensor: PageTensor;
  readonly value: InputState;
  readonly onChange: (value: InputState) => void;
  /** Undefined for models whose answers come in parts. */
  readonly live: Live | undefined;
}

/** The fields of one input: its values and its shape, or a file. */
export function InputField(props: InputFieldProps) {
  const { tensor, value, onChange } = props;
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
      {(takesImages || isText) && <FileField {...props} />}
      {value.file === undefined && value.isOmitted !== true && (
        <div class="values">
          <label>
            {isText ? "Text" : "Values"}
            <textarea
              rows={isText ? 2 : 3}
              spellcheck={false}
              value={value.values}
              onInput={(event) => onChange(withValues(tensor, value, event.currentTarget.value))}
            />
          </label>
          <label class="shape">
            Shape
            <input value={value.shape} onInput={(event) => onChange(withShape(value, event.currentTarget.value))} />
          </label>
        </div>
      )}
    </fieldset>
  );
}

/** A place for a file: dropped, pasted, or chosen. */
function FileField({ tensor, value, onChange, live }: InputFieldProps) {
  const { name, takesImages, isForImages, datatype } = tensor;
  const [isOver, setOver] = useState(false);
  const [problem, setProblem] = useState("");
  const id = useId();
  const chooser = useRef<HTMLInputElement>(null);
  const take = async (list: ArrayLike<File> | null | undefined) => {
    const file = list?.[0];
    // A browser forgets the file as a person leaves its window without choosing another.
    if (file === undefined) return showChosen(chooser.current, value.file?.source);
    try {
      const chosen = await chooseFile(file);
      const grey = value.isGrey === true && chosen.isImage ? toGreyFile(chosen) : undefined;
      // A browser decodes fewer kinds of images than the server.
      onChange({ ...value, file: (await grey?.catch(() => undefined)) ?? chosen, isOmitted: false });
      setProblem("");
    } catch {
      showChosen(chooser.current, value.file?.source);
      setProblem(`The browser cannot read ${file.name}: it is a folder, or not there any more.`);
    }
  };
  const place = useRef<HTMLDivElement>(null);
  usePaste(place, (files) => void take(files));
  const { file } = value;
  useEffect(() => showChosen(chooser.current, file?.source), [file]);
  const url = useObjectUrl(file?.isImage ? file.source : undefined);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: what can be dropped here can also be chosen with the field in it
    <div
      ref={place}
      class={`drop${isForImages ? " images" : ""}${isOver ? " over" : ""}`}
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
      {file !== undefined && url !== undefined && <img src={url} alt={`${name}: ${file.name}`} />}
      <div>
        <label for={id}>{`${takesImages ? "Image" : "File"} for ${name}`}</label>
        <input
          ref={chooser}
          id={id}
          type="file"
          accept={takesImages ? "image/*" : undefined}
          onChange={(event) => void take(event.currentTarget.files)}
        />
        <FileFacts file={file} url={url} />
        {problem !== "" && (
          <p class="notice bad" role="alert">
            {problem}
          </p>
        )}
        {isForImages && <CameraField name={name} live={live} onTake={(photo) => void take([photo])} />}
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

/** The name and size of a file; one that the page has made can be saved, for programs that send the same. */
function FileFacts({ file, url }: { readonly file: ChosenFile | undefined; readonly url: string | undefined }) {
  const facts = file && `${file.name}, ${sizeText(file.bytes.length)}`;
  return (
    <>
      <p class="facts" role="status">
        {facts ?? "Drop a file here, paste one, or choose one."}
        {file?.isGrey === true && ", made grey for a model of one channel"}
      </p>
      {file?.isGrey === true && url !== undefined && (
        <a href={url} download={file.name}>
          Save the grey image
        </a>
      )}
    </>
  );
}

/** Lets the field name the file that is sent, wherever it came from: a camera, the clipboard, or an earlier visit. */
function showChosen(field: HTMLInputElement | null, file: File | undefined): void {
  if (field === null || field.files?.[0] === file) return;
  const list = new DataTransfer();
  if (file !== undefined) list.items.add(file);
  field.files = list.files;
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
