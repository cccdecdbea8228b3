import { HttpError } from "../../proxy/http-errors.ts";

const JSON_TYPES: ReadonlySet<string> = new Set(["application/json", "application/jsonlines"]);
const ANY_TYPE: ReadonlySet<string> = new Set(["*/*", "application/*"]);

/** Form of an answer that a client asked for. */
export interface AcceptedType {
  readonly contentType: string;
  /** True where the client named a type of JSON: the container's answers have no line breaks then. */
  readonly isNamed: boolean;
}

/** Chooses the answer's type by the header `Accept`. Throws 406 where it leaves no type that an answer can have. */
export function acceptedType(header = ""): AcceptedType {
  const types = header.split(",").flatMap((entry) => {
    const [type = "", ...parameters] = entry.split(";").map((part) => part.trim().toLowerCase());
    return type === "" || parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter)) ? [] : [type];
  });
  const named = types.find((type) => JSON_TYPES.has(type));
  if (named !== undefined) return { contentType: named, isNamed: true };
  if (types.length === 0 || types.some((type) => ANY_TYPE.has(type))) {
    return { contentType: "application/json", isNamed: false };
  }
  throw new HttpError(406, `Not Acceptable: ${header}; answers are ${[...JSON_TYPES].join(" or ")}.`);
}
