/** The flags of `kserving runtimes install`, as they were given. */
export interface InstallFlags {
  readonly version?: string;
  readonly dir?: string;
  readonly wheel?: string;
  readonly jar?: string;
  readonly path?: string;
  readonly from?: "index" | "pip" | "npm";
  readonly device?: "cpu" | "cuda";
  readonly force?: boolean;
  readonly yes?: boolean;
}
