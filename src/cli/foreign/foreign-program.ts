import type { ServedVersion } from "../../server/served-version.ts";
import type { ModelConfig } from "../../serving/repository/config/model-config.ts";
import type { PlatformFolder } from "../../serving/repository/formats/sagemaker.ts";
import type { Environment } from "../settings/environment.ts";
import type { FileSettings } from "../settings/read-file-settings.ts";
import type { Settings } from "../settings/settings.ts";
import type { StatusReporter } from "../status-reporter/status-reporter.ts";

/** A command line of another server, in our terms. */
export interface ForeignCommandLine {
  /** Settings that its flags say; these count as our own flags do. */
  readonly settings: FileSettings;
  /** Settings as that server has them if nothing is said; these count less than environment variables and files. */
  readonly defaults: FileSettings;
  /** The model that the flags describe, if they describe one. */
  readonly models: readonly ModelConfig[];
  /** Folder from which its platform loads models while it runs; absent = no platform does. */
  readonly platform?: PlatformFolder;
  /** Starts even if no model has a version yet. */
  readonly mayBeEmpty?: true;
  /** Reads configuration files once, at the start. */
  readonly keepsFiles: boolean;
  /** The password of `--auth-username`, if the command line has it and no file does. */
  readonly password?: string;
  /** Flags that change nothing here, one line each. */
  readonly warnings: readonly string[];
  /** The policies of that server which differ from ours, in one line. */
  readonly notice: string;
}

/** A start that failed. */
export interface FailedStart {
  /** Absent if it could not be read. */
  readonly commandLine?: ForeignCommandLine | undefined;
  /** Versions that did not load. */
  readonly failed: readonly ServedVersion[];
}

/** Another server's program as one of our commands. */
export interface ForeignProgram {
  /** Reads its arguments; an exit code if that was all, such as for help. Throws `invalid_argument`. */
  read(argv: readonly string[], env: Environment): Promise<ForeignCommandLine | number>;
  /** Waits until a start makes sense, as that server does; absent = it does not. */
  waitForModels?(models: readonly ModelConfig[], settings: Settings<"serve">): Promise<void>;
  /** Prints that server's own lines. */
  createReporter(settings: Settings<"serve">): Partial<StatusReporter>;
  /** Prints why it ends, as that server does, and gives the exit code. */
  fail(reason: unknown, start: FailedStart): number;
}
