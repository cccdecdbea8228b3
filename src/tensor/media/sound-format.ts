/** Beginnings of files of sound. */
const SOUNDS: readonly (readonly [mimeType: string, beginning: RegExp])[] = [
  ["audio/wav", /^RIFF[\s\S]{4}WAVE/],
  ["audio/ogg", /^OggS/],
  ["audio/flac", /^fLaC/],
  ["audio/mpeg", /^ID3|^\xff[\xfb\xf3\xf2]/],
];

/** The media type of a file of sound by its first bytes; undefined for all else. */
export function soundType(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.subarray(0, 12)).toString("latin1");
  return SOUNDS.find(([, beginning]) => beginning.test(head))?.[0];
}
