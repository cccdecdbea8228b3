/** One group of the site's side bar: pages by their paths, without ending. */
interface Group {
  readonly text: string;
  readonly pages: readonly string[];
}

const GROUPS: readonly Group[] = [
  { text: "Begin", pages: ["index", "docs/quickstarts", "docs/from-other-servers", "docs/comparison", "docs/recipes"] },
  {
    text: "Serve",
    pages: [
      ...["docs/models", "docs/drivers", "docs/hooks", "docs/python-hooks", "docs/images", "docs/tensors"],
      ...["docs/storage", "docs/runtimes", "docs/embedding"],
    ],
  },
  {
    text: "Call",
    pages: [
      ...["docs/client", "docs/http", "docs/grpc", "docs/kserve", "docs/openai", "docs/sagemaker"],
      ...["docs/simple-tensorflow-serving", "docs/errors", "docs/page"],
    ],
  },
  {
    text: "Operate",
    pages: [
      ...["docs/configuration", "docs/operations", "docs/limits", "docs/isolation", "docs/security", "docs/metrics"],
      ...["docs/tracing", "docs/replay", "docs/containers", "docs/kubernetes", "docs/scaling", "docs/performance"],
      ...["docs/benchmark", "docs/platforms"],
    ],
  },
  { text: "Commands", pages: ["docs/commands"] },
];

/** A link of the side bar. */
interface SideLink {
  readonly text: string;
  readonly link: string;
}

/** The side bar: the groups, the pages of each driver, and at the end every page that no group names. */
export function sideBar(titles: ReadonlyMap<string, string>) {
  const linkTo = (page: string): SideLink => {
    const text = titles.get(page);
    if (text === undefined) throw new Error(`the side bar names ${page}, which is no page`);
    return { text, link: `/${page === "index" ? "" : page}` };
  };
  const named = new Set(GROUPS.flatMap(({ pages }) => pages));
  const rest = [...titles.keys()].filter((page) => !named.has(page)).sort();
  const [drivers, decisions] = ["docs/drivers/", "docs/decisions/"].map((folder) =>
    rest.filter((page) => page.startsWith(folder)),
  );
  const others = rest.filter((page) => !drivers?.includes(page) && !decisions?.includes(page));
  const folded = Object.entries({ "One page per driver": drivers, More: others, "Why it is so": decisions });
  return [
    ...GROUPS.map(({ text, pages }) => ({ text, items: pages.map(linkTo) })),
    ...folded.map(([text, pages = []]) => ({ text, collapsed: true, items: pages.map(linkTo) })),
  ];
}

/** The other versions that a site has, and whether it is itself one that is kept below its number. */
interface OtherVersions {
  readonly others?: readonly string[];
  readonly isKept?: boolean;
}

/** Menu of the bar at the top: this version, what is new in it, and the sites of others below their numbers. */
export function versionMenu(version: string, { others = [], isKept = false }: OtherVersions = {}) {
  const links = others.map((other) => ({ text: other, link: `/${other}/`, target: "_self" }));
  // VitePress puts the base before every link.
  const newest = isKept ? [{ text: "The newest version", link: "/../", target: "_self" }] : [];
  return { text: version, items: [{ text: "Changelog", link: "/CHANGELOG" }, ...links, ...newest] };
}
