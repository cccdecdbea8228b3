import { useEffect, useState } from "preact/hooks";
import { isObject } from "../tensor/record.ts";
import { isSignedIn, urlOf } from "./call-server.ts";
import { readWrittenForm, type WrittenForm, withoutSecrets } from "./input-state.ts";

/** A request to a model that was sent. */
interface KeptRequest {
  readonly model: string;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly form: WrittenForm;
  /** True for one that a person keeps as an example; others make room for newer ones. */
  readonly isExample: boolean;
}

/** Requests that are kept of a model, and examples, and characters of one and of all. */
const [MAX_REQUESTS, MAX_EXAMPLES, MAX_CHARACTERS, MAX_TOTAL] = [10, 20, 16_384, 262_144];

/** The browser's, which others may use too; for a person who has signed in the tab's, as for credentials. */
function storage(): Storage {
  return isSignedIn() ? sessionStorage : localStorage;
}

/** Servers behind one proxy have an origin in common. */
function storageKey(): string {
  return `kserving-requests ${new URL(urlOf("./")).pathname}`;
}

/** The newest first; none if the browser keeps nothing, or something else. */
function readAll(): readonly KeptRequest[] {
  try {
    const found: unknown = JSON.parse(storage().getItem(storageKey()) ?? "[]");
    return Array.isArray(found) ? found.flatMap((one) => toKept(one) ?? []) : [];
  } catch {
    return [];
  }
}

function toKept(value: unknown): KeptRequest | undefined {
  if (!isObject(value) || typeof value.model !== "string" || typeof value.at !== "number") return undefined;
  const { model, at, isExample } = value;
  const form = readWrittenForm(value.form);
  return form && { model, at, form, isExample: isExample === true };
}

function writeAll(requests: readonly KeptRequest[]): void {
  let total = 0;
  const counts = new Map<string, number>();
  const hasRoom = ({ model, isExample, form }: KeptRequest) => {
    const key = `${isExample} ${model}`;
    const count = (counts.get(key) ?? 0) + 1;
    counts.set(key, count);
    total += sizeOf(form);
    return count <= (isExample ? MAX_EXAMPLES : MAX_REQUESTS) && total <= MAX_TOTAL;
  };
  const examples = requests.filter((one) => one.isExample && hasRoom(one));
  const others = requests.filter((one) => !one.isExample && hasRoom(one));
  const kept = [...examples, ...others].toSorted((one, other) => other.at - one.at);
  try {
    storage().setItem(storageKey(), JSON.stringify(kept));
  } catch {
    // A browser that keeps nothing, or whose room is used up.
  }
}

function sizeOf(form: WrittenForm): number {
  return JSON.stringify(form).length;
}

/** Keeps a request, unless its texts are long, or may have a secret; the same one before is forgotten. */
export function keepRequest(model: string, written: WrittenForm): void {
  const form = withoutSecrets(written);
  if (form === undefined || isEmpty(form) || sizeOf(form) > MAX_CHARACTERS) return;
  const text = JSON.stringify(form);
  const all = readAll();
  const isSame = (one: KeptRequest) => one.model === model && JSON.stringify(one.form) === text;
  const isExample = all.some((one) => isSame(one) && one.isExample);
  writeAll([{ model, at: Date.now(), form, isExample }, ...all.filter((one) => !isSame(one))]);
}

/** True for a request of files alone. */
function isEmpty({ inputs, free, table }: WrittenForm): boolean {
  return inputs.length === 0 && free === undefined && table === undefined;
}

interface KeptRequestsProps {
  readonly model: string;
  /** Another number for each request. */
  readonly count: number;
  readonly onFill: (form: WrittenForm) => void;
}

/** The last requests to a model and its examples, which fill the form. */
export function KeptRequests({ model, count, onFill }: KeptRequestsProps) {
  const [requests, setRequests] = useState<readonly KeptRequest[]>([]);
  const look = () => setRequests(readAll().filter((one) => one.model === model));
  useEffect(look, [model, count]);
  const change = (changed: KeptRequest, others: readonly KeptRequest[]) => {
    writeAll(readAll().flatMap((one) => (one.model === model && one.at === changed.at ? others : one)));
    look();
  };
  if (requests.length === 0) return null;
  return (
    <details>
      <summary>Last requests and examples</summary>
      <ul class="kept">
        {requests.map((one) => (
          <li key={one.at}>
            <span class="facts">{`${new Date(one.at).toLocaleString()}${one.isExample ? ", an example" : ""}`}</span>
            <code>{summaryOf(one.form)}</code>
            <div class="buttons">
              <button type="button" onClick={() => onFill(one.form)}>
                Fill in
              </button>
              <button
                type="button"
                aria-pressed={one.isExample}
                onClick={() => change(one, [{ ...one, isExample: !one.isExample }])}
              >
                Keep as an example
              </button>
              <button type="button" onClick={() => change(one, [])}>
                Forget
              </button>
            </div>
          </li>
        ))}
      </ul>
      <p class="facts">
        {`Without files, and without inputs whose names say that they are secret. ${isSignedIn() ? "Kept in this tab." : "Kept in this browser."}`}
      </p>
    </details>
  );
}

/** Characters of a request in a line. */
const MAX_SUMMARY = 120;

function summaryOf({ inputs, free, table }: WrittenForm): string {
  const rows = table?.rows ?? [];
  const ofTable = `${rows.length === 1 ? "" : `${rows.length} rows: `}${rows[0]?.join(", ")}`;
  const ofInputs = inputs.map(({ name, values }) => `${name}: ${values}`).join("; ");
  const text = free ?? (table === undefined ? ofInputs : ofTable);
  return text.length > MAX_SUMMARY ? `${text.slice(0, MAX_SUMMARY)}…` : text;
}
