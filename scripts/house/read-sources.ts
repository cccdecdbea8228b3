import { dirname, join, relative, resolve } from "node:path";
import {
  getLeadingCommentRanges,
  getTrailingCommentRanges,
  type Identifier,
  isAsExpression,
  isCallExpression,
  isClassDeclaration,
  isExportDeclaration,
  isFunctionDeclaration,
  isIdentifier,
  isImportDeclaration,
  isImportTypeNode,
  isInterfaceDeclaration,
  isLiteralTypeNode,
  isNewExpression,
  isPropertyAccessExpression,
  isPropertyAssignment,
  isStringLiteral,
  isTypeAliasDeclaration,
  isVariableDeclaration,
  isVariableStatement,
  type Node,
  type SourceFile as Parsed,
  SyntaxKind,
} from "typescript/unstable/ast";
import { API } from "typescript/unstable/sync";

/** Facts of one source file, read from the compiler's syntax tree. */
export interface Source {
  /** Path from the root of the repository. */
  readonly path: string;
  readonly lines: number;
  /** Files that it imports, as {@link path}, and packages by their specifiers; types too, and imports in functions. */
  readonly imports: ReadonlySet<string>;
  /**
   * Every name in it: of values, types, members. Without members of what a package exports, and entries of a table of
   * any texts, which have the meaning that others gave them.
   */
  readonly names: ReadonlySet<string>;
  /** Functions that it calls, and classes that it constructs, by their names alone. */
  readonly calls: ReadonlySet<string>;
  /** Names of the types that it declares. */
  readonly types: readonly string[];
  /** The lines of its comments. */
  readonly comments: () => readonly string[];
  /** Type assertions other than `as const`. */
  readonly casts: number;
  /** Exported declarations, and those of them that a doc comment stands before. */
  readonly exports: { readonly all: number; readonly documented: number };
}

const ROOT = resolve(import.meta.dirname, "../..");
const PROJECTS = ["tsconfig.json", "tsconfig.page.json"].map((file) => join(ROOT, file));

/** Reads every TypeScript file below folders of this repository that belongs to a project of it. */
export function readSources(...folders: readonly string[]): Source[] {
  const api = new API({ cwd: ROOT });
  try {
    const snapshot = api.updateSnapshot({ openProjects: PROJECTS });
    const isWanted = (file: string) => folders.some((folder) => file.startsWith(`${ROOT}/${folder}/`));
    const parsed = snapshot.getProjects().flatMap(({ program }) =>
      program
        .getSourceFileNames()
        .filter(isWanted)
        .map((file) => [file, program.getSourceFile(file) as Parsed] as const),
    );
    return [...new Map(parsed)].map(([file, tree]) => toSource(file, tree));
  } finally {
    api.close();
  }
}

function toSource(file: string, tree: Parsed): Source {
  const nodes = nodesOf(tree);
  const specifiers = nodes.flatMap((node) => specifierOf(node) ?? []);
  const toPath = (name: string) => (name.startsWith(".") ? relative(ROOT, join(dirname(file), name)) : name);
  return {
    path: relative(ROOT, file),
    lines: tree.text.trimEnd().split("\n").length,
    imports: new Set(specifiers.map(toPath)),
    names: namesOf(tree, nodes),
    calls: new Set(
      nodes.filter(isCall).flatMap(({ expression }) => (isIdentifier(expression) ? [expression.text] : [])),
    ),
    types: nodes.filter(isTypeDeclaration).flatMap(({ name }) => (name === undefined ? [] : [name.text])),
    comments: () => commentLines(tree, nodes),
    casts: nodes.filter((node) => isAsExpression(node) && node.type.getText(tree) !== "const").length,
    exports: countExports(tree),
  };
}

function nodesOf(tree: Node): Node[] {
  const nodes: Node[] = [];
  const add = (node: Node): void => {
    nodes.push(node);
    node.forEachChild(add);
  };
  tree.forEachChild(add);
  return nodes;
}

function namesOf(tree: Parsed, nodes: readonly Node[]): Set<string> {
  const imports = nodes.filter(isImportDeclaration).filter((node) => !specifierOf(node)?.startsWith("."));
  const ofPackages = new Set(
    imports
      .flatMap(nodesOf)
      .filter(isIdentifier)
      .map(({ text }) => text),
  );
  const own = nodes.filter(isIdentifier).filter((name) => !isMemberOf(name, ofPackages) && !isEntry(name, tree));
  return new Set(own.map(({ text }) => text));
}

/** Checks for `NAME.member` of such names. */
function isMemberOf({ parent, text }: Identifier, names: ReadonlySet<string>): boolean {
  if (!isPropertyAccessExpression(parent) || parent.name.text !== text) return false;
  return isIdentifier(parent.expression) && names.has(parent.expression.text);
}

/** Checks for a key in the value of a variable that is declared as a record of any texts. */
function isEntry({ parent: entry, text }: Identifier, tree: Parsed): boolean {
  if (!isPropertyAssignment(entry) || entry.name.getText(tree) !== text) return false;
  const variable = entry.parent.parent;
  return isVariableDeclaration(variable) && /^(?:Readonly<)?Record<string,/.test(variable.type?.getText(tree) ?? "");
}

/** The module that an import or export names: a declaration, a call of `import()`, a type. */
function specifierOf(node: Node): string | undefined {
  const named = namedModule(node);
  return named !== undefined && isStringLiteral(named) ? named.text : undefined;
}

function namedModule(node: Node): Node | undefined {
  if (isImportDeclaration(node) || isExportDeclaration(node)) return node.moduleSpecifier;
  if (isImportTypeNode(node)) return isLiteralTypeNode(node.argument) ? node.argument.literal : undefined;
  const isImport = isCallExpression(node) && node.expression.kind === SyntaxKind.ImportKeyword;
  return isImport ? node.arguments[0] : undefined;
}

function isCall(node: Node) {
  return isCallExpression(node) || isNewExpression(node);
}

function isTypeDeclaration(node: Node) {
  return isInterfaceDeclaration(node) || isTypeAliasDeclaration(node) || isClassDeclaration(node);
}

function commentLines(tree: Parsed, nodes: readonly Node[]): string[] {
  const places = new Set([...nodes, tree.endOfFileToken].flatMap(({ pos, end }) => [pos, end]));
  const found = [...places].flatMap((place) => [
    ...(getLeadingCommentRanges(tree.text, place) ?? []),
    ...(getTrailingCommentRanges(tree.text, place) ?? []),
  ]);
  const ends = new Map(found.map(({ pos, end }) => [pos, end]));
  return [...ends].flatMap(([pos, end]) => tree.text.slice(pos, end).split("\n"));
}

function countExports(tree: Parsed): { all: number; documented: number } {
  const exported = tree.statements.filter(
    (statement) => isDeclaration(statement) && /^export\b/.test(statement.getText(tree)),
  );
  const documented = exported.filter(({ pos }) =>
    getLeadingCommentRanges(tree.text, pos)?.some((range) => tree.text.startsWith("/**", range.pos)),
  );
  return { all: exported.length, documented: documented.length };
}

function isDeclaration(node: Node): boolean {
  return isTypeDeclaration(node) || isFunctionDeclaration(node) || isVariableStatement(node);
}
