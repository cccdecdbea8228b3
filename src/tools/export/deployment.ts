/** A command line as it is to run elsewhere. */
export interface Deployment {
  /** Name of the deployment: small letters, digits and dashes. */
  readonly name: string;
  /** Image that is built and run, with its tag. */
  readonly image: string;
  /** Version of this program. */
  readonly version: string;
  /** This program's package. */
  readonly program: PackedProgram;
  /** Arguments of `kserving`, with paths relative to {@link WORK_FOLDER}. */
  readonly args: readonly string[];
  /** Files and folders of the command line, relative to the folder in which it is given. */
  readonly files: readonly string[];
  readonly models: readonly DeployedModel[];
  /** The hook file and the local files that it imports; absent if there are no hooks. */
  readonly hooks?: readonly [string, ...string[]];
  /** Flags that name files with secrets, which an image must not have. */
  readonly secrets: readonly string[];
  /** Paths that the server writes, by the flags that name them. */
  readonly written: Readonly<Record<string, string>>;
  /** The settings that say how the server runs, as variables of the environment. */
  readonly variables: Readonly<Record<string, string>>;
  /** True if a configuration file describes models. */
  readonly hasConfig: boolean;
  /** Drivers of the models, each once. */
  readonly drivers: readonly string[];
  readonly needs: ImageNeeds;
  /** True if an option of a model asks for a GPU or the like, which is a device of the system. */
  readonly hasDevice: boolean;
  /** Host of the ports, if the command line says one. */
  readonly host?: string;
  readonly grpcPort: number;
  /** Absent if HTTP is off. */
  readonly httpPort?: number;
  /** Seconds from SIGTERM until it has stopped at the latest. */
  readonly stopSeconds: number;
}

/** This program's own package, which an image is built with: its name in a registry may be anybody's. */
export interface PackedProgram {
  /** The path of the archive from the folder that the image is built from, or, if it is outside, its name. */
  readonly file: string;
  readonly sha256: string;
  /** True if it is in its own build context, {@link PACKAGE_CONTEXT}. */
  readonly isOutside: boolean;
}

/** Name of the build context with the package, if that is not below the folder that the image is built from. */
export const PACKAGE_CONTEXT = "package";

/** Parts of an image that some models need, and others of the same driver do not. */
export interface ImageNeeds {
  /** Names for `kserving runtimes install`. */
  readonly runtimes: readonly string[];
  /** npm packages. */
  readonly packages: readonly string[];
}

/** A model of the command line. */
export interface DeployedModel {
  /** Absent if the command line has none. */
  readonly name?: string;
  /** A relative path, or an address. */
  readonly path: string;
  readonly driver?: string;
  /** Those of the files that it has for its texts: a tokenizer's, and folders of modules, which end with a slash. */
  readonly texts?: readonly string[];
}

/** Texts of files by their names. */
export type ExportedFiles = Readonly<Record<string, string>>;

/** Folder of the image in which the program starts. */
export const WORK_FOLDER = "/srv/kserving";
