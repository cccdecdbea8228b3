import { invalidArgument } from "../../errors.ts";
import { readNameLines } from "./name-lines.ts";
import { hashPassword, type PasswordHash, parsePasswordHash } from "./password-hash.ts";
import { WatchedFile } from "./watched-file.ts";

/** Hashes of passwords by name. */
export type Users = ReadonlyMap<string, PasswordHash>;

/** Opens a file of names with hashes. */
export function openUsers(path: string): Promise<WatchedFile<Users>> {
  const parse = (text: string, file: string) => readNameLines(text, file, parsePasswordHash);
  return WatchedFile.open(path, { what: "file of users", parse });
}

/**
 * Opens a file that holds a single user's password, as secrets of containers do; a
 * line break at its end is not part of it.
 */
export function openPassword(name: string, path: string): Promise<WatchedFile<Users>> {
  const parse = async (text: string, file: string) => {
    const password = text.replace(/\r?\n$/, "");
    if (password === "") throw invalidArgument(`${file} is empty; expected the password of ${name}.`);
    return toUsers(name, password);
  };
  return WatchedFile.open(path, { what: "password file", parse });
}

/** A single user with a password. */
export async function toUsers(name: string, password: string): Promise<Users> {
  return new Map([[name, parsePasswordHash(await hashPassword(password))]]);
}
