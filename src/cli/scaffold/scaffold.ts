/** Texts of files by their paths. */
export type ScaffoldFiles = Readonly<Record<string, string>>;

/** Files of one kind of folder, and the command that serves them. */
export interface Scaffold {
  readonly start: string;
  readonly files: ScaffoldFiles;
}
