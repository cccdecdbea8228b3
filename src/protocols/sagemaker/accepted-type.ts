import { HttpError } from "../../proxy/http-errors.ts";
import type { ArrayForm } from "./write-array.ts";

const JSON_TYPES: ReadonlySet<string> = new Set(["application/json", "application/jsonlines"]);
/** Types of an answer that is one array, and their forms. */
const ARRAYS = { "text/csv": "csv", "application/x-npy": "npy" } as const satisfies Readonly<Record<string, ArrayForm>>;
const ANY_TYPE: ReadonlySet<string> = new Set(["*/*", "application/*"]);

/** Form of an answer that a client asked for. */
export interface AcceptedType {
  readonly contentType: string;
  /** True where the client named a type: the container's JSON has no line breaks then. */
  readonly isNamed: boolean;
  /** The form of an answer that is one array; absent = JSON. */
  readonly array?: ArrayForm;
}

/**
 * Chooses the answer's type by the header `Accept`: JSON where that is named; only predictions can be arrays. Throws
 * 406 where it leaves no type that an answer can have.
 */
export function acceptedType(header = "", method = "predict"): AcceptedType {
  const types = header.split(",").flatMap((entry) => {
    const [type = "", ...parameters] = entry.split(";").map((part) => part.trim().toLowerCase());
    return type === "" || parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter)) ? [] : [type];
  });
  const json = types.find((type) => JSON_TYPES.has(type));
  if (json !== undefined) return { contentType: json, isNamed: true };
  const isArray = (type: string): type is keyof typeof ARRAYS => method === "predict" && Object.hasOwn(ARRAYS, type);
  const array = types.find(isArray);
  if (array !== undefined) return { contentType: array, isNamed: true, array: ARRAYS[array] };
  if (types.length === 0 || types.some((type) => ANY_TYPE.has(type))) {
    return { contentType: "application/json", isNamed: false };
  }
  const known = [...JSON_TYPES, ...(method === "predict" ? Object.keys(ARRAYS) : [])];
  throw new HttpError(406, `Not Acceptable: ${header}; answers are ${known.join(", ")}.`);
}
