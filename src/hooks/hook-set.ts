import { failedPrecondition } from "../errors.ts";
import { kindOf } from "../platform/text/kind-of.ts";
import { didYouMean, nearest } from "../platform/text/nearest.ts";
import { checkDeclarations } from "./check-declarations.ts";
import { type AnyHook, answersInParts, isGenerator } from "./generator-hooks.ts";
import type { AnyHooks, Hook, HookContext, Hooks } from "./hooks.ts";
import { inferenceEntries, isInferenceFile } from "./inference-handlers.ts";
import type { RawEntry } from "./raw-entry.ts";
import { routeEntries } from "./route-entries.ts";
import { hasTextFunctions, TEXT_FUNCTIONS, textEntries } from "./text-entries.ts";

/** Hooks after all checks: one slot per stage, or a `process` that replaces the chain. */
export interface HookSet {
  readonly init?: Hooks["init_hook"];
  readonly close?: Hooks["close_hook"];
  readonly process?: AnyHook;
  /** Joins the parts of an answer to one. */
  readonly collect?: Hooks["collect"];
  /** Called before a request's first hook: for hooks that run elsewhere. */
  readonly begin?: (ctx: HookContext, isJson: boolean) => void;
  /** Called when a request has ended, with its context: for hooks that run elsewhere. */
  readonly release?: (ctx: HookContext) => void;
  readonly preprocess: readonly (Hook | null)[];
  readonly postprocess: readonly (AnyHook | null)[];
  readonly description?: string;
  readonly inputs?: Hooks["inputs"];
  readonly outputs?: Hooks["outputs"];
  readonly options?: Hooks["options"];
  /** Functions that get bytes and give bytes, by name; absent = there are none. */
  readonly entries?: ReadonlyMap<string, RawEntry>;
}

const COLLECT = "collect";
const DESCRIPTION = "description";
const FUNCTIONS = ["init_hook", "process", "close_hook"] as const;
const SLOTS = ["preprocess", "postprocess"] as const;
const DATA = ["inputs", "outputs", "options"] as const;
const ROUTES = "rawRequest";
/** Those of which one at least makes an object hooks. */
const OWN_MEMBERS: readonly string[] = ["init_hook", "process", "close_hook", ...SLOTS, ROUTES, ...DATA];
/** The last ones are words that files of users may have for something else. */
const MEMBERS: readonly string[] = [...OWN_MEMBERS, ...TEXT_FUNCTIONS, COLLECT, DESCRIPTION];

/** The hooks of an imported module: its default export if that is an object, else its named exports. */
export function toHooks(exports: Readonly<Record<string, unknown>>, file: string): Hooks {
  const { default: whole } = exports;
  if (typeof whole === "object" && whole !== null) return whole as Hooks;
  const named = isHooks(exports);
  if (whole !== undefined && !named) throw failedPrecondition(`${file}: ${wrongDefault(whole)}`);
  for (const name of Object.keys(exports)) {
    const meant = MEMBERS.includes(name) ? undefined : nearest(name, OWN_MEMBERS);
    // A module may export other functions too, but not under a hook's misspelt name.
    if (meant !== undefined && !(meant in exports))
      throw failedPrecondition(`${file} exports "${name}". Did you mean "${meant}"?`);
  }
  return exports as Hooks;
}

/** Checks that an object, or what a module exports, has something that makes it hooks. */
function isHooks(exports: object): boolean {
  return hasTextFunctions(exports) || Object.keys(exports).some((name) => OWN_MEMBERS.includes(name));
}

/**
 * The error text for a default export that is not an object of hooks, with the right form. `module.exports` of CommonJS
 * is a default export too.
 */
function wrongDefault(whole: unknown): string {
  const what =
    typeof whole === "function" ? `a ${isClass(whole) ? "class" : "function"}${nameOf(whole)}` : kindOf(whole);
  const member = typeof whole === "function" && MEMBERS.includes(whole.name) ? whole.name : "preprocess";
  return `its default export (or module.exports) is ${what}; expected an object of hooks: export default { ${member}: (inputs, ctx, args) => inputs }; or the function under its own name: export function ${member}(inputs, ctx, args) { return inputs; }`;
}

function isClass(value: object): boolean {
  return /^class\b/.test(Function.prototype.toString.call(value));
}

function nameOf({ name }: { readonly name: string }): string {
  return name === "" || name === "default" || name.endsWith("_default") ? "" : ` (${name})`;
}

/**
 * Checks hooks against the number of models; throws `failed_precondition` with the member, the given value and the
 * expected one.
 */
export function validateHooks(hooks: AnyHooks, stageCount: number, file: string): HookSet {
  if (isInferenceFile(file, hooks, isHooks(hooks))) {
    const entries = inferenceEntries(hooks as Readonly<Record<string, unknown>>, file);
    return { entries, preprocess: noSlots(stageCount), postprocess: noSlots(stageCount) };
  }
  const ofTexts = textEntries(hooks, file, isModule(hooks));
  checkMembers(hooks, file);
  checkDeclarations(hooks, file);
  const { init_hook, close_hook, process, inputs, outputs, options } = hooks;
  const preprocess = plainSlots(toSlots("preprocess", hooks.preprocess, stageCount, file), file);
  const postprocess = toSlots("postprocess", hooks.postprocess, stageCount, file);
  const description = toDescription(hooks, file);
  const collect = toCollect(hooks, answersInParts({ ...(process && { process }), postprocess }), file);
  return {
    ...(init_hook && { init: init_hook }),
    ...(close_hook && { close: close_hook }),
    ...(process && { process }),
    ...(collect && { collect }),
    ...(description !== undefined && { description }),
    ...(inputs && { inputs }),
    ...(outputs && { outputs }),
    ...(options && { options }),
    ...entriesOf(hooks.rawRequest, ofTexts, file),
    preprocess,
    postprocess,
  };
}

/** The functions of hooks that get bytes in place of the pipeline's values. */
function entriesOf(rawRequest: unknown, ofTexts: HookSet["entries"], file: string): Pick<HookSet, "entries"> {
  if (rawRequest === undefined) return ofTexts === undefined ? {} : { entries: ofTexts };
  return { entries: new Map([...routeEntries(rawRequest, file), ...(ofTexts ?? [])]) };
}

/** Parts are made behind a model, or in place of all. */
function plainSlots(slots: readonly (AnyHook | null)[], file: string): readonly (Hook | null)[] {
  const wrong = slots.findIndex(isGenerator);
  if (wrong === -1) return slots as readonly (Hook | null)[];
  const place = slots.length === 1 ? "preprocess" : `preprocess[${wrong}]`;
  throw failedPrecondition(
    `${file}: ${place} is a generator; expected a function that returns. To answer in parts, yield in postprocess or process.`,
  );
}

/**
 * Undefined if nothing would call it: a module may have something else under that name. Without `process`, the models
 * may answer in parts.
 */
function toCollect(hooks: AnyHooks, isCalled: boolean, file: string): Hooks["collect"] {
  const { collect }: { readonly collect?: unknown } = hooks;
  const mayBeCalled = isCalled || hooks.process === undefined;
  const isOther = !isCalled && isModule(hooks) && (!mayBeCalled || typeof collect !== "function");
  if (collect === undefined || isOther) return undefined;
  if (!mayBeCalled) {
    throw failedPrecondition(
      `${file} has collect, but no hook whose parts it would join; expected a generator as process: async *process(inputs, ctx).`,
    );
  }
  if (typeof collect !== "function")
    throw failedPrecondition(`${file}: ${COLLECT} is ${kindOf(collect)}; expected a function.`);
  return hooks.collect;
}

/** A module may have something else under that name. */
function toDescription(hooks: AnyHooks, file: string): string | undefined {
  const { description }: { readonly description?: unknown } = hooks;
  if (description === undefined || typeof description === "string") return description;
  if (isModule(hooks)) return undefined;
  throw failedPrecondition(`${file}: ${DESCRIPTION} is ${kindOf(description)}; expected a text.`);
}

function isModule(hooks: object): boolean {
  return hooks[Symbol.toStringTag as never] === "Module";
}

function checkMembers(hooks: AnyHooks, file: string): void {
  const names = Object.keys(hooks);
  const unknown = names.find((name) => !MEMBERS.includes(name));
  if (unknown !== undefined && !isModule(hooks)) {
    throw failedPrecondition(
      `${file} has no use for "${unknown}".${didYouMean(unknown, MEMBERS)} It takes ${MEMBERS.join(", ")}.`,
    );
  }
  if (!isHooks(hooks)) {
    throw failedPrecondition(
      `${file} exports no hooks; expected at least one of ${OWN_MEMBERS.slice(0, 6).join(", ")}.`,
    );
  }
  for (const name of FUNCTIONS) {
    const value: unknown = hooks[name];
    if (value !== undefined && typeof value !== "function")
      throw failedPrecondition(`${file}: ${name} is ${kindOf(value)}; expected a function.`);
  }
  if (hooks.process !== undefined && (hooks.preprocess !== undefined || hooks.postprocess !== undefined)) {
    throw failedPrecondition(
      `${file} has both process and preprocess or postprocess; process replaces the whole chain, so keep one of the two.`,
    );
  }
}

function noSlots(count: number): null[] {
  return new Array(count).fill(null);
}

function toSlots(name: "preprocess" | "postprocess", slots: unknown, count: number, file: string): (AnyHook | null)[] {
  if (slots === undefined || slots === null) return noSlots(count);
  const models = count === 1 ? "is 1 model" : `are ${count} models`;
  if (typeof slots === "function") {
    if (count === 1) return [slots as AnyHook];
    throw failedPrecondition(
      `${file}: ${name} is one function, but there ${models}; expected an array with one slot per model, null = no hook.`,
    );
  }
  if (!Array.isArray(slots))
    throw failedPrecondition(`${file}: ${name} is ${kindOf(slots)}; expected a function or an array of functions.`);
  if (slots.length !== count) {
    throw failedPrecondition(
      `${file}: ${name} has ${slots.length} ${slots.length === 1 ? "slot" : "slots"}, but there ${models}; expected one slot per model, null = no hook.`,
    );
  }
  const wrong = slots.findIndex((slot) => slot !== null && typeof slot !== "function");
  if (wrong === -1) return slots;
  throw failedPrecondition(`${file}: ${name}[${wrong}] is ${kindOf(slots[wrong])}; expected a function or null.`);
}
