import { publicText, ServingError } from "../errors.ts";
import { settlesWithin } from "../platform/async/promises.ts";
import { staysCompatible } from "../tensor/signature/stays-compatible.ts";
import { errorFor, type Hears, namingError } from "./naming-error.ts";
import { RETIRE_MS } from "./plan/residence.ts";
import type { Servable } from "./servable.ts";
import { servedNames } from "./served-names.ts";
import type { VersionState } from "./version-status.ts";

/** A model that others may need. */
interface NeededModel {
  readonly name: string;
  readonly current: { readonly servable: Servable | undefined } | undefined;
  readonly versions: readonly { readonly failure: unknown; readonly status: { readonly state: VersionState } }[];
  readonly isUnloaded: boolean;
  /** True while a version that should be served has neither been loaded nor failed. */
  readonly isLoading: boolean;
  readonly isEnding: boolean;
  isLeaving(need: string): boolean;
  readonly needs: ReadonlySet<string>;
}

/** Every model, by name. */
interface ModelsByName {
  get(name: string): NeededModel | undefined;
  models(): readonly NeededModel[];
}

/** The wait of one version for the models that its stages name. */
export interface NeedsWait {
  readonly signal: AbortSignal;
  /** Time after which the wait counts as a failure, though it continues, in milliseconds; 0 = never. */
  readonly timeoutMs: number;
  /** Also waits until every version of the models is available or has failed. */
  readonly allVersions?: boolean;
  /** Called with the reason why the version cannot be loaded yet, at each check and each change. */
  readonly onProblem: (problem: ServingError) => void;
}

/** The models that stages of other models name, and when they can answer. */
export class NeededModels {
  readonly #catalog: ModelsByName;
  readonly #waiting = new Set<() => void>();

  constructor(catalog: ModelsByName) {
    this.#catalog = catalog;
  }

  /** To be called after each change of a model's state. */
  changed(): void {
    for (const check of [...this.#waiting]) check();
  }

  /** The reason why requests that need these models fail now; undefined if they do not fail. */
  problemOf(needs: readonly string[]): ServingError | undefined {
    const missing = this.#missing(needs);
    return missing && namingError("unavailable", missing.textFor);
  }

  /**
   * A loaded servable of a needed model whose signatures differ from those that this one was loaded with, or that
   * answers in parts where it did not, or the other way round.
   */
  changedSince({ needed }: Servable): Servable | undefined {
    for (const { path: name, signatures, decoupled } of needed) {
      const now = this.#catalog.get(name)?.current?.servable;
      if (now === undefined) continue;
      const { description } = now;
      if (description.decoupled !== decoupled || !staysCompatible(signatures, description.signatures)) return now;
    }
    return undefined;
  }

  /** Waits until each of these models has a version that is available; rejects with the signal's reason. */
  async wait(
    needs: readonly string[],
    { signal, timeoutMs, onProblem, allVersions = false }: NeedsWait,
  ): Promise<void> {
    // Models are added one after the other; by then, those that were added together with this one are known.
    await Promise.resolve();
    let isLate = false;
    const end = () => {
      isLate = true;
      this.changed();
    };
    const timer = timeoutMs > 0 ? setTimeout(end, timeoutMs) : undefined;
    try {
      for (;;) {
        signal.throwIfAborted();
        const missing = this.#missing(needs) ?? (allVersions ? this.#loading(needs) : undefined);
        if (missing === undefined) return;
        if (missing.isSettled) onProblem(namingError("unavailable", missing.textFor));
        else if (isLate) onProblem(tooLong(missing, timeoutMs));
        await this.#nextChange(signal);
      }
    } finally {
      clearTimeout(timer);
    }
  }

  /** The loaded models, and those to be loaded, whose stages name this one. */
  dependentsOf(name: string): readonly NeededModel[] {
    return this.#catalog.models().filter((model) => model.needs.has(name));
  }

  /**
   * Resolves once none of them is about to be replaced by one that does without it, and those that end have had their
   * time for the last requests, or the signal aborts.
   */
  async letGo(name: string, signal: AbortSignal): Promise<void> {
    await this.#replaced(name, signal);
    await settlesWithin(this.#released(name, signal), RETIRE_MS);
  }

  async #replaced(name: string, signal: AbortSignal): Promise<void> {
    // By then, those that are removed or replaced together with this one are known.
    await Promise.resolve();
    while (!signal.aborted && this.dependentsOf(name).some((model) => model.isLeaving(name)))
      await this.#nextChange(signal);
  }

  async #released(name: string, signal: AbortSignal): Promise<void> {
    while (!signal.aborted && this.dependentsOf(name).some((model) => model.isEnding)) await this.#nextChange(signal);
  }

  /** Resolves once every version of these models, and of those that they need, is available or has failed. */
  async settled(names: Iterable<string>): Promise<void> {
    // A set that grows while it is iterated also visits the added elements.
    const all = new Set(names);
    for (const name of all) {
      while (this.#catalog.get(name)?.isLoading === true) await this.#nextChange();
      for (const need of this.#catalog.get(name)?.needs ?? []) all.add(need);
    }
  }

  #nextChange(signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        this.#waiting.delete(done);
        signal?.removeEventListener("abort", done);
        resolve();
      };
      this.#waiting.add(done);
      signal?.addEventListener("abort", done);
    });
  }

  #loading(needs: readonly string[]): Missing | undefined {
    const name = needs.find((need) => this.#catalog.get(need)?.isLoading === true);
    if (name === undefined) return undefined;
    const which = (hears: Hears) => (hears(name) ? `the model "${name}"` : "another model");
    return { textFor: (hears) => `It needs a version of ${which(hears)}, which is still loading.`, isSettled: false };
  }

  #missing(needs: readonly string[]): Missing | undefined {
    for (const name of needs) {
      const model = this.#catalog.get(name);
      if (model?.current?.servable !== undefined) continue;
      const why = model === undefined ? notServed(name, this.#catalog) : whyNot(model);
      const textFor = (hears: Hears) =>
        hears(name) ? `It needs the model "${name}", ${why(hears)}` : "It needs another model, which is not available.";
      return { textFor, isSettled: model?.isLoading !== true };
    }
    return undefined;
  }
}

/** A needed model that cannot answer. */
interface Missing {
  readonly textFor: (hears: Hears) => string;
  /** True if no running load will change that. */
  readonly isSettled: boolean;
}

function notServed(name: string, catalog: ModelsByName): (hears: Hears) => string {
  const names = catalog.models().map((model) => model.name);
  return (hears) => `which is not served.${servedNames(name, names.filter(hears))}`;
}

function whyNot({ versions, isUnloaded }: NeededModel): (hears: Hears) => string {
  const failure = versions.find((version) => version.failure !== undefined)?.failure;
  const state = WORDS[versions[0]?.status.state ?? "END"];
  if (isUnloaded) return () => "which a client has unloaded; load it again.";
  if (failure === undefined) return () => `which is ${state}.`;
  return (hears) =>
    `which could not be loaded: ${publicText(failure instanceof ServingError ? errorFor(failure, hears) : failure)}`;
}

const WORDS = {
  START: "waiting to be loaded",
  LOADING: "still loading",
  AVAILABLE: "available",
  UNLOADING: "being unloaded",
  END: "unloaded",
};

function tooLong({ textFor }: Missing, timeoutMs: number): ServingError {
  const wait = `It was waited for ${timeoutMs} ms (--load-timeout), and is waited for further.`;
  return namingError("deadline_exceeded", (hears) => `${textFor(hears)} ${wait}`);
}
