/** The commands that take settings. */
export type SettingsCommand = "serve" | "proxy";

/** One setting: its type, its default, its effect, and the commands that take it. */
export type Setting = {
  /** Effect of the setting on one line, without its default. */
  readonly help: string;
  /** Further sentences for docs/configuration.md. */
  readonly details?: string;
  readonly commands: readonly SettingsCommand[];
  /** The part of a server that obeys it, by which it gets there; absent = only the command line has it. */
  readonly slice?: string;
  /** Its flag without dashes. Default: its name in kebab-case, without `Ms`. */
  readonly flag?: string;
  /** Its value in help texts; absent for booleans. */
  readonly placeholder?: string;
  readonly short?: string;
  /** Its values are paths, in a configuration file relative to that. */
  readonly isPath?: true;
  /** A second environment variable, read after the `KSERVING_` one. */
  readonly alsoEnv?: string;
} /** `form`: what a program may give, in words too. */ & (
  | {
      readonly type: "text";
      readonly default?: string;
      readonly form?: { readonly expected: string; readonly pattern: RegExp };
    }
  /** A program with its arguments. */
  | { readonly type: "command"; readonly default?: undefined }
  /** `host`: a name or an IP address. `address`: a host with a port. */
  | { readonly type: "host" | "address"; readonly default: string }
  /** `onWith`: a setting that switches this one on if it is given and this one is not. */
  | { readonly type: "boolean"; readonly default: boolean; readonly onWith?: string }
  /** `bare`: the choice that the flag alone, or a true, stands for; a false stands for the default. */
  | { readonly type: "choice"; readonly choices: readonly string[]; readonly default: string; readonly bare?: string }
  /** `port`: 0 to 65535. `count`: an integer from `min` on. */
  | { readonly type: "port"; readonly default?: number }
  /** Of a message, which has to fit a signed 32-bit number; `isMemory`: of any size, or 0. */
  | { readonly type: "bytes"; readonly default: number; readonly isMemory?: true; readonly unit?: string }
  /** Written in seconds, with decimals; a value in milliseconds. `isSigned`: may be negative. */
  | { readonly type: "seconds"; readonly default: number; readonly isSigned?: true }
  /** A part of a whole: 0 to 1. */
  | { readonly type: "share"; readonly default: number }
  /** `unit`: words behind the range of numbers in messages to programs. */
  | { readonly type: "count"; readonly min: number; readonly default?: number; readonly unit?: string }
  /**
   * A flag that may be repeated; the separator stands between entries in the environment variable. `isSplit`: in a flag
   * too, since no entry has it; a path may.
   */
  | { readonly type: "list"; readonly separator: "," | ";"; readonly isSplit?: true }
);

/** Commands that take a setting. */
export const [SERVE, PROXY, BOTH] = [["serve"], ["proxy"], ["serve", "proxy"]] as const;

interface ValueByType {
  readonly text: string;
  readonly host: string;
  readonly address: string;
  readonly boolean: boolean;
  readonly port: number;
  readonly bytes: number;
  readonly seconds: number;
  readonly share: number;
  readonly count: number;
  readonly list: readonly string[];
  readonly command: readonly [string, ...string[]];
}

/** The value of a setting. */
export type ValueOf<S extends Setting> = S extends { choices: readonly (infer Choice)[] }
  ? Choice
  : S extends { type: keyof ValueByType }
    ? ValueByType[S["type"]]
    : never;

/** Any default. */
export type Default = string | number | boolean;

/** The value of a setting that is not given: undefined, if it has no default. */
export type AbsentValueOf<S extends Setting> = S extends { type: "list" } | { default: Default } ? never : undefined;
