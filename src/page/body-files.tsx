import { useState } from "preact/hooks";

/** Base64 of files by the marks that stand in a body in place of it, each a text of JSON. */
export type BodyFiles = ReadonlyMap<string, string>;

/** Each text of base64 in a body. */
const BASE64 = /("b64"\s*:\s*)("(?:[^"\\]|\\.)*")/g;
/** Bodies with more of them are written by programs. */
const MAX_FIELDS = 12;

/** A body as it is sent, with the files that its marks name. */
export function withFiles(body: string, files: BodyFiles): string {
  return body.replace(BASE64, (all, before: string, text: string) => {
    const base64 = files.get(text);
    return base64 === undefined ? all : `${before}"${base64}"`;
  });
}

/** A body with a mark in place of one of its texts of base64, the first of which is 0. */
function withMark(body: string, place: number, mark: string): string {
  let seen = 0;
  return body.replace(BASE64, (all, before: string) => (seen++ === place ? before + mark : all));
}

interface FileFieldsProps {
  readonly body: string;
  /** Takes a change of the body as it is by then, and the file that its new mark is for. */
  readonly onChange: (
    change: (body: string) => string,
    file: { readonly mark: string; readonly base64: string },
  ) => void;
}

/** A field for each file that a body is to have. */
export function FileFields({ body, onChange }: FileFieldsProps) {
  const places = [...(body.match(BASE64) ?? []).slice(0, MAX_FIELDS).keys()];
  const isAlone = places.length === 1;
  return (
    <>
      {places.map((place) => (
        <FileField
          key={place}
          label={`A file in place of ${isAlone ? "what is under b64" : `b64 number ${place + 1}`}`}
          onChange={({ name }, base64) => {
            // Two fields may have files of the same name.
            const mark = JSON.stringify(isAlone ? `file ${name}` : `file ${place + 1}: ${name}`);
            onChange((now) => withMark(now, place, mark), { mark, base64 });
          }}
        />
      ))}
    </>
  );
}

interface FileFieldProps {
  readonly label: string;
  readonly onChange: (file: File, base64: string) => void;
}

function FileField({ label, onChange }: FileFieldProps) {
  const [problem, setProblem] = useState("");
  const take = (file: File | undefined) => {
    if (file === undefined) return;
    const reader = new FileReader();
    // As a URL: data:image/png;base64,…
    reader.onload = () => onChange(file, String(reader.result).replace(/^[^,]*,/, ""));
    reader.onerror = () => setProblem(`The browser cannot read ${file.name}.`);
    setProblem("");
    reader.readAsDataURL(file);
  };
  return (
    <>
      <label>
        {label}
        <input type="file" onChange={(event) => take(event.currentTarget.files?.[0])} />
      </label>
      {problem !== "" && (
        <p class="notice bad" role="alert">
          {problem}
        </p>
      )}
    </>
  );
}
