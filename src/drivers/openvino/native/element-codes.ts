/** The numbers of element types, which differ between releases. */
export class ElementCodes {
  readonly #names: ReadonlyMap<number, string>;
  readonly #codes: ReadonlyMap<string, number>;

  constructor(codes: ReadonlyMap<string, number>) {
    this.#codes = codes;
    this.#names = new Map([...codes].map(([name, code]) => [code, name]));
  }

  /** OpenVINO's name for a number. */
  name(code: number): string {
    return this.#names.get(code) ?? `number ${code}`;
  }

  /** The number of a type that this release has; -1 for another. */
  code(name: string): number {
    return this.#codes.get(name) ?? -1;
  }
}
