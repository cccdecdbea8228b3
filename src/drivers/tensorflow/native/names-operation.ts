/** `op` of a NodeDef in protobuf's form: field 2, the length, the name. */
export function namesOperation(name: string): Buffer {
  return Buffer.from([0x12, name.length, ...Buffer.from(name)]);
}
