/** Checks that a text is the number of a port that can be connected to. */
export function isPortNumber(text: string): boolean {
  return /^\d{1,5}$/.test(text) && Number(text) >= 1 && Number(text) <= 65535;
}
