/** `12.3 MB`, in powers of ten, as usual for downloads. */
export function megabytes(bytes: number): string {
  const value = bytes / 1e6;
  return `${value >= 100 ? Math.round(value) : value.toFixed(1)} MB`;
}
