/** Members of a record that a test has no use for. */
export const NOTHING = { meta: undefined, tensors: undefined } as const;
