import { invalidArgument } from "../errors.ts";

/** Folder in which Linux has the objects of POSIX shared memory, as files in memory. */
const FOLDER = "/dev/shm";
/** Prefix of objects that Triton's Python backend makes for itself. */
const RESERVED = "triton_python_backend_shm_region_";
/** The longest name of a file, in bytes. */
const MAX_NAME_BYTES = 255;

/**
 * The file of a shared memory object, by the key that a client gives for a region: the object's name, with or without
 * slashes before it, as `shm_open` takes it. Throws `invalid_argument`, with Triton's texts, for any other key: none
 * leads out of the folder.
 */
export function objectFile(region: string, key: string): string {
  const name = key.replace(/^\/+/, "");
  const refused = `cannot register shared memory region '${region}'`;
  if (name.startsWith(RESERVED)) {
    throw invalidArgument(`${refused} with key '${key}' as the key contains the reserved prefix '${RESERVED}'`);
  }
  if (isFileName(name)) return `${FOLDER}/${name}`;
  throw invalidArgument(`${refused} - invalid shm key '${key}'; expected the object's name, such as /my_input`);
}

function isFileName(name: string): boolean {
  if (name === "" || name === "." || name === "..") return false;
  return !/[/\0]/.test(name) && Buffer.byteLength(name) <= MAX_NAME_BYTES;
}
