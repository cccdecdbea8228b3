/** Models that a platform has loaded and unloaded by their folders while the server runs. */
export interface PlatformModels {
  /** Names of the models that are loaded, without those that are about to be. */
  names(): readonly string[];
  /**
   * Loads the model of a folder. Throws `already_exists` for a name that is loaded or about to be, `not_found` for a
   * folder without a model or outside the platform's, `resource_exhausted` if memory
   * is short, and why it does not load.
   */
  load(name: string, url: string): Promise<void>;
  /** Finishes a model's requests and forgets it; throws `not_found` for a name that is not loaded. */
  unload(name: string): Promise<void>;
}
