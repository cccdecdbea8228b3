/** Notes of an exporter about a model: texts by name, or trees of them. */
export interface ModelNotes {
  readonly [name: string]: string | ModelNotes;
}
