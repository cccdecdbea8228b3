import { tempFolder } from "../../helpers/temp-folder.ts";

/** A PNG of one pixel. */
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg==";
/** The beginning of a WAV, which is all that its type is told by. */
const WAV = Buffer.from("RIFF\0\0\0\0WAVEfmt ", "latin1").toString("base64");

const SOURCES = {
  "bulk.mjs": `
    export const inputs = [{ name: "kind", dtype: "bytes", shape: [1] }];
    export const outputs = [{ name: "made", dtype: "bytes", shape: [-1] }];
    const png = Buffer.from("${PNG}", "base64");
    const sized = (bytes) => Buffer.concat([png, Buffer.alloc(bytes)]);
    const texts = ["ID3 and others", "OggS", "fLaC is a word", "GIF89a"];
    const made = {
      many: () => ({ made: Array.from({ length: 300 }, () => png) }),
      texts: () => ({ made: texts }),
      mixed: () => ({ made: [png, Buffer.alloc(200_000, "a")] }),
      large: () => ({ made: [sized(3_000_000)] }),
      huge: () => ({ made: [sized(30_000_000)] }),
    };
    export const process = ({ kind }) => made[Buffer.from(kind.data[0]).toString()]();`,
  "sum.mjs": `
    export const inputs = [
      { name: "x", dtype: "float32", shape: [-1, 2] },
      { name: "note", dtype: "bytes", shape: [1], default: { dtype: "bytes", shape: [1], data: [new Uint8Array(0)] } },
    ];
    export const outputs = [{ name: "sum", dtype: "float32", shape: [-1] }];
    export const process = ({ x }) => {
      const rows = x.shape[0];
      const sum = Float32Array.from({ length: rows }, (_, row) => x.data[2 * row] + x.data[2 * row + 1]);
      console.log("a hook prints");
      return { sum: { dtype: "float32", shape: [rows], data: sum } };
    };`,
  "media.mjs": `
    export const description = "Draws a dot, and plays it.";
    export const inputs = [];
    export const outputs = [
      { name: "picture", dtype: "bytes", shape: [1] },
      { name: "sound", dtype: "bytes", shape: [] },
      { name: "count", dtype: "int64", shape: [] },
    ];
    export const process = () => ({
      picture: [Buffer.from("${PNG}", "base64")],
      sound: Buffer.from("${WAV}", "base64"),
      count: { dtype: "int64", shape: [], data: BigInt64Array.of(9007199254740993n) },
    });`,
  "words.mjs": `
    export const inputs = [{ name: "text", dtype: "bytes", shape: [-1] }];
    export const outputs = [{ name: "word", dtype: "bytes", shape: [1] }];
    let ended = 0;
    const media = { picture: Buffer.from("${PNG}", "base64"), sound: Buffer.from("${WAV}", "base64") };
    export async function* process({ text }) {
      const said = Buffer.from(text.data[0]).toString();
      try {
        if (said === "ended") return yield { word: [String(ended)] };
        if (said === "many") for (let part = 0; part < 20; part++) yield { word: ["\\n".repeat(1_000_000)] };
        if (said === "media") for (const name of ["picture", "sound", "picture"]) yield { word: [media[name]] };
        for (const word of said.split(" ")) {
          if (word === "fail") throw new Error("no such word");
          yield { word: [word + " "] };
        }
        while (said === "endless") yield { word: ["on "] };
      } finally {
        if (said === "endless") ended++;
      }
    }`,
};

/** Models by name that are tools, and one that is none. */
export function toolModels() {
  const folder = tempFolder(SOURCES);
  const hooked = (name: string) => ({ driver: "null", hooks: `${folder}/${name}.mjs` });
  return {
    "the.sum": hooked("sum"),
    media: hooked("media"),
    words: hooked("words"),
    bulk: hooked("bulk"),
    plain: { driver: "null" },
  };
}
