/**
 * A text as one word of a shell's command line, in quotes where it has other characters than those of names and paths.
 */
export function shellWord(text: string): string {
  return /^[\w./=:,@+-]+$/.test(text) ? text : shellQuoted(text);
}

/** A text in the single quotes of a POSIX shell, whatever is in it. */
export function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
