/** A text as one word of a shell's command line, in quotes where it has other characters than those of names and paths. */
export function shellWord(text: string): string {
  return /^[\w./=:,@+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
