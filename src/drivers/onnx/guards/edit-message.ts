import { bytesField, encodeMessage } from "../../../codecs/protobuf/wire-writer.ts";
import type { ProtobufField, ProtobufFile } from "../protobuf-file.ts";

/** Beginning and end of a message in a file. */
type Span = Pick<ProtobufField, "start" | "end">;

/** The bytes that take a field's place, with its key; undefined = it stays as it is. */
type Edit = (field: ProtobufField) => readonly Uint8Array[] | undefined;

/** A message with some fields replaced; undefined where none is. */
export function editMessage(file: ProtobufFile, { start, end }: Span, edit: Edit): Uint8Array | undefined {
  const parts: Uint8Array[] = [];
  let kept = start;
  let position = start;
  for (const field of file.fields(start, end)) {
    const replaced = edit(field);
    if (replaced !== undefined) {
      parts.push(file.bytes(kept, position - kept), ...replaced);
      kept = field.end;
    }
    position = field.end;
  }
  return kept === start && parts.length === 0 ? undefined : Buffer.concat([...parts, file.bytes(kept, end - kept)]);
}

/** A field that holds a message, from the bytes of the latter. */
export function nestedField(number: number, content: Uint8Array): Uint8Array {
  return encodeMessage([bytesField(number, content)]);
}
