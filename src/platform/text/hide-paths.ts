import { withoutEnd } from "./shorten.ts";

/**
 * Beginnings of absolute paths on POSIX systems, had by this machine or not: libraries name paths of the machine that
 * built them.
 */
const USUAL_ROOTS =
  "bin boot dev etc home lib lib64 media mnt opt private proc root run sbin srv sys tmp usr var Applications Library System Users Volumes";

/** `/`, `C:\`, `\\server` or `file://`, and the first letter of a name. */
const ABSOLUTE = String.raw`(?:file:\/{1,3}|[A-Za-z]:[/\\]|\\\\|\/)[^\s/\\'"\`]`;
/** A character of a path without quotes; brackets and commas end it. */
const LETTER = String.raw`[^\s'"\`<>|,;()[\]{}]`;
const WORD = String.raw`[^\s'"\`<>|,;()[\]{}/\\]+`;
/**
 * A path continues after a space if the next word has a separator (and is not a URL), or if a few words lead to a
 * file name with an ending.
 */
const BEHIND_SPACE = String.raw` (?:(?!\w+:\/\/)${WORD}[/\\]${LETTER}*|(?:${WORD} ){1,3}${WORD}[/\\]${LETTER}*\.\w{1,6}(?!\w))`;
/** Does not begin within a word, a URL or a relative path: `float32/int64` is not a path. */
const CANDIDATE = new RegExp(
  String.raw`(?<=['"\`])${ABSOLUTE}[^'"\`]*(?=['"\`])|(?<![\w/\\.\])}~%<-])${ABSOLUTE}${LETTER}*(?:${BEHIND_SPACE})*`,
  "g",
);
/** A path in quotes with any beginning: these words before it show that it is not one of a model's own names. */
const NAMED = /\b((?:model|folder|file|request|driver) ")(\/[^"]*)"/g;
const NAMED_ROOT = /^(?:file:|[A-Za-z]:|\\)/;
/** A file's ending, with line and column perhaps. */
const ENDING = /\.\w{1,6}(?::\d+)*$/;

/**
 * A text without absolute paths of files, POSIX or Windows, in quotes or not. The paths in `known` are hidden wherever
 * they stand in quotes, and everywhere if they have a separator. Names that only begin with a slash, such as
 * `/conv1/Conv`, stay. Takes time beyond the text's length: cut it first.
 */
export function hidePaths(text: string, known: readonly string[] = []): string {
  let hidden = text;
  for (const path of known) hidden = hidden.replaceAll(`'${path}'`, "'(path)'");
  for (const path of known.filter((each) => /.[/\\]|[/\\]./.test(each))) hidden = hidden.replaceAll(path, "(path)");
  return replacePaths(hidden, () => "(path)");
}

/** Endings of files of models, hooks and configurations; any other name may be a person's, or a folder's. */
const SHOWN_ENDING =
  /\.(?:[cm]?[jt]sx?|py|json|ya?ml|toml|onnx|ort|xml|bin|pbtxt|pb|h5|keras|tflite|pt|pth|safetensors|joblib|pkl|ubj|cbm|csv|npy|txt|zip|tar|t?gz)(?::\d+)*$/i;

/**
 * A text without folders: as {@link hidePaths}, but a file of a usual kind keeps its own name, and the place in it. For
 * texts about files that the server was told to serve.
 */
export function hideFolders(text: string): string {
  return replacePaths(text, (path) => {
    const name = path.split(/[/\\]/).at(-1)!;
    return SHOWN_ENDING.test(name) ? name : "(path)";
  });
}

function replacePaths(text: string, shown: (path: string) => string): string {
  return text
    .replace(NAMED, (_, before: string, path: string) => `${before}${shown(path)}"`)
    .replace(CANDIDATE, (candidate) => {
      const path = withoutEnd(candidate, ".:!?");
      return isFilePath(path) ? `${shown(path)}${candidate.slice(path.length)}` : candidate;
    });
}

function isFilePath(path: string): boolean {
  if (NAMED_ROOT.test(path) || ENDING.test(path)) return true;
  const [first] = path.slice(1).split(/[/\\\s]/, 1) as [string];
  roots ??= new Set([...USUAL_ROOTS.split(" "), ...ownRoots()]);
  return roots.has(first);
}

let roots: ReadonlySet<string> | undefined;

/** A path of this machine begins with a folder of its root, which may have any name in a container. */
function ownRoots(): string[] {
  try {
    // Not imported, so that a browser can load the client.
    return process.getBuiltinModule("node:fs").readdirSync("/");
  } catch {
    return [];
  }
}
