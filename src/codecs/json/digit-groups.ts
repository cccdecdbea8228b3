const ZERO = 0x30;

/** ASCII digits of 000 to 999, three each. */
const GROUPS = Uint8Array.from({ length: 3000 }, (_, index) => {
  const group = String(Math.floor(index / 3)).padStart(3, "0");
  return group.charCodeAt(index % 3);
});

/** Writes an integer below 10^6 as six digits. */
export function writeSix(buffer: Uint8Array, at: number, value: number): void {
  const high = (value / 1000) | 0;
  writeThree(buffer, at, high);
  writeThree(buffer, at + 3, value - high * 1000);
}

/** Writes an integer below 10^9 as nine digits. */
export function writeNine(buffer: Uint8Array, at: number, value: number): void {
  const high = (value / 1_000_000) | 0;
  writeThree(buffer, at, high);
  writeSix(buffer, at + 3, value - high * 1_000_000);
}

function writeThree(buffer: Uint8Array, at: number, value: number): void {
  const from = 3 * value;
  buffer[at] = GROUPS[from]!;
  buffer[at + 1] = GROUPS[from + 1]!;
  buffer[at + 2] = GROUPS[from + 2]!;
}

/** The end of digits without the zeros behind them; at least one is kept. */
export function withoutZeros(buffer: Uint8Array, start: number, end: number): number {
  let last = end;
  while (last > start + 1 && buffer[last - 1] === ZERO) last--;
  return last;
}
