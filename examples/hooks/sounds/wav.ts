import { ServingError } from "kserving";

/** The samples of a WAV file of one channel with 16 bits (RIFF: chunks of a name, a length and bytes). */
export function readWav(file: Buffer): { readonly rate: number; readonly samples: Int16Array } {
  const chunks = new Map<string, Buffer>();
  if (file.toString("latin1", 0, 4) !== "RIFF" || file.toString("latin1", 8, 12) !== "WAVE") throw notWav();
  for (let at = 12; at + 8 <= file.length; ) {
    const bytes = file.readUInt32LE(at + 4);
    chunks.set(file.toString("latin1", at, at + 4), file.subarray(at + 8, at + 8 + bytes));
    at += 8 + bytes + (bytes % 2);
  }
  const [format, data] = [chunks.get("fmt "), chunks.get("data")];
  if (format === undefined || data === undefined || format.length < 16) throw notWav();
  const isPlain = format.readUInt16LE(0) === 1 && format.readUInt16LE(2) === 1 && format.readUInt16LE(14) === 16;
  if (!isPlain) throw notWav();
  const samples = Int16Array.from({ length: Math.floor(data.length / 2) }, (_, index) => data.readInt16LE(2 * index));
  return { rate: format.readUInt32LE(4), samples };
}

function notWav(): ServingError {
  return new ServingError("invalid_argument", "Expected a WAV file of one channel with 16 bits.");
}
