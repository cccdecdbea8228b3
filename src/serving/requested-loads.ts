import type { ServingError } from "../errors.ts";
import { TurnsByName } from "../platform/async/promises.ts";
import type { Catalog } from "./catalog.ts";
import type { UnloadOptions } from "./inference-service.ts";
import type { ManagedModel } from "./managed-model.ts";
import { namingError } from "./naming-error.ts";
import type { NeededModels } from "./needed-models.ts";
import { planRequest, planUnload } from "./plan/versions.ts";

/** The models, and the source of their versions. */
interface RequestedLoadsParts {
  readonly catalog: Catalog<ManagedModel>;
  readonly needed: NeededModels;
  /** Finds out which versions should be served under a name. */
  readonly refresh: (name: string) => Promise<void>;
  /** Resolves once something holds, which is looked at after each change of a model. */
  readonly until: (isOver: () => boolean) => Promise<void>;
}

/** Loads and unloads models for clients, together with the models that they need or that need them. */
export class RequestedLoads {
  readonly #on: RequestedLoadsParts;
  /** Names of models whose folders are being scanned before they are loaded, so that they are not loaded twice. */
  readonly #held: string[] = [];
  readonly #turns = new TurnsByName();

  constructor(parts: RequestedLoadsParts) {
    this.#on = parts;
  }

  /** True while no load of a model should begin, since one on request is about to. */
  isHeld(name: string): boolean {
    return this.#held.includes(name);
  }

  /**
   * Loads a model's files as they are now, and the models that it needs and that clients have unloaded. Resolves once
   * all their versions have loaded or failed. Throws `not_found` for an unknown name, and the reason of a failed load.
   * `change` is called before the load begins, to change which models to serve.
   */
  async load(name: string, change?: () => Promise<void>): Promise<void> {
    const { loaded } = await this.#beginLoad(name, false, change);
    await loaded;
    await this.#on.until(() => this.#on.needed.areSettled(this.#on.catalog.get(name)?.needs ?? []));
  }

  /**
   * Frees a model once its requests are over, until it is loaded again. Throws `not_found` for an unknown name,
   * `failed_precondition` if other models need it and are not to be unloaded with it.
   */
  async unload(name: string, { dependents = false }: UnloadOptions = {}): Promise<void> {
    this.#on.catalog.require(name);
    if (dependents) return this.#unloadWithOthers(name);
    await this.#unload(name, () => {
      const needing = this.#on.needed.dependentsOf(name);
      if (needing.length > 0) throw isNeeded(name, needing);
      return true;
    });
  }

  /** Starts the load of a model, after the models that it needs and that clients have unloaded. */
  #beginLoad(
    name: string,
    isDependencyOnly: boolean,
    change?: () => Promise<void>,
  ): Promise<{ readonly loaded: Promise<void> }> {
    return this.#turns.run(name, async () => {
      this.#held.push(name);
      try {
        return await this.#prepare(name, isDependencyOnly, change);
      } finally {
        this.#held.splice(this.#held.indexOf(name), 1);
        // A change that was found meanwhile counts also if this fails.
        this.#on.catalog.get(name)?.approach();
      }
    });
  }

  async #prepare(
    name: string,
    isDependencyOnly: boolean,
    change?: () => Promise<void>,
  ): Promise<{ readonly loaded: Promise<void> }> {
    const { catalog, refresh } = this.#on;
    const begun: string[] = [];
    // A client may have loaded it meanwhile, for itself.
    if (isDependencyOnly && catalog.get(name)?.isUnloaded === false) return { loaded: Promise.resolve() };
    for (let model: ManagedModel | undefined; ; ) {
      const unloadedNeeds = [...(model?.wantedNeeds ?? [])].filter((need) => catalog.get(need)?.isUnloaded);
      const action = planRequest({ isKnown: model !== undefined, unloadedNeeds, begun });
      if (action.do === "load first") {
        begun.push(action.name);
        // A model that needs it is notified if its load fails.
        void (await this.#beginLoad(action.name, true)).loaded.catch(() => {});
      } else if (model !== undefined) return { loaded: model.load() };
      else {
        await refresh(name);
        await change?.();
        model = catalog.require(name);
        model.isDependencyOnly = isDependencyOnly;
      }
    }
  }

  /** `isDue` is asked when it is its turn, and may refuse it: other models may have come to need it meanwhile. */
  async #unload(name: string, isDue: () => boolean): Promise<void> {
    const { unloaded } = await this.#turns.run(name, async () => ({
      unloaded: isDue() ? this.#on.catalog.require(name).unload() : undefined,
    }));
    await unloaded;
  }

  async #unloadWithOthers(name: string): Promise<void> {
    const { catalog, needed } = this.#on;
    // A client may have loaded it, or what needs it, meanwhile; or it is gone.
    const isSpare = (one: string) => catalog.get(one)?.isDependencyOnly && needed.dependentsOf(one).length === 0;
    for (const [one, row] of planUnload(name, catalog.models()))
      await this.#unload(one, () => (row === "U3" ? isSpare(one) === true : catalog.get(one) !== undefined));
  }
}

function isNeeded(name: string, needing: readonly { readonly name: string }[]): ServingError {
  const names = needing.map((model) => model.name);
  const hint = "unload what needs it first, or together with it (unload_dependents)";
  return namingError("failed_precondition", (hears) => {
    const heard = names.filter(hears);
    const all = heard.length === names.length ? heard : [...heard, "models that you may not know of"];
    return `The model ${name} is needed by ${all.join(", ")}; ${hint}.`;
  });
}
