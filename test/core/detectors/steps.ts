// How many steps a backtracking search takes to try a shape at one place of a text. It knows what shapes are made of: characters,
// classes, groups, alternatives, what comes next, and how often.

type Node =
  | { kind: 'one'; takes: RegExp }
  | { kind: 'all'; parts: Node[] }
  | { kind: 'any'; ways: Node[] }
  | { kind: 'times'; of: Node; least: number; most: number }
  | { kind: 'not next'; of: Node };

const parsed = new Map<string, Node>();

function parse(source: string): Node {
  let at = 0;
  const ways = (): Node => {
    const all: Node[] = [row()];
    while (source[at] === '|') {
      at++;
      all.push(row());
    }
    return all.length === 1 ? (all[0] as Node) : { kind: 'any', ways: all };
  };
  const row = (): Node => {
    const parts: Node[] = [];
    while (at < source.length && source[at] !== '|' && source[at] !== ')') parts.push(counted(single()));
    return { kind: 'all', parts };
  };
  const single = (): Node => {
    if (source[at] !== '(') {
      const [part = ''] = /^(?:\[(?:\\.|[^\]])*\]|\\.|.)/s.exec(source.slice(at)) ?? [];
      at += part.length;
      return { kind: 'one', takes: new RegExp(`^(?:${part})$`) };
    }
    const isNot = source.startsWith('(?!', at);
    at += source[at + 1] === '?' ? 3 : 1;
    const of = ways();
    at++;
    return isNot ? { kind: 'not next', of } : of;
  };
  const counted = (of: Node): Node => {
    const [all = '', sign, least, comma, most] =
      /^(?:([*+?])|\{(\d+)(,?)(\d*)\})/.exec(source.slice(at)) ?? [];
    if (all === '') return of;
    at += all.length;
    if (sign !== undefined)
      return { kind: 'times', of, least: sign === '+' ? 1 : 0, most: sign === '?' ? 1 : 1e9 };
    return {
      kind: 'times',
      of,
      least: Number(least),
      most: comma === '' ? Number(least) : Number(most || 1e9),
    };
  };
  return ways();
}

export function stepsOf(shape: string, text: string, from: number): number {
  const node = parsed.get(shape) ?? parse(shape);
  parsed.set(shape, node);
  let steps = 0;
  /** Each place at which the node can end, in the order in which a search tries them. */
  function* ends(node: Node, at: number): Generator<number> {
    steps++;
    if (node.kind === 'one') {
      if (at < text.length && node.takes.test(text[at] as string)) yield at + 1;
    } else if (node.kind === 'any') for (const way of node.ways) yield* ends(way, at);
    else if (node.kind === 'not next') {
      if (ends(node.of, at).next().done) yield at;
    } else if (node.kind === 'all') yield* row(node.parts, 0, at);
    else yield* times(node, at);
  }
  function* row(parts: Node[], index: number, at: number): Generator<number> {
    if (index === parts.length) yield at;
    else for (const end of ends(parts[index] as Node, at)) yield* row(parts, index + 1, end);
  }
  /** What is repeated takes one character, or is short: the longest row of it first, then shorter ones. */
  function* times({ of, least, most }: Node & { kind: 'times' }, at: number): Generator<number> {
    const places = [at];
    while (places.length <= most) {
      const next = ends(of, places.at(-1) as number).next();
      if (next.done || next.value === places.at(-1)) break;
      places.push(next.value);
    }
    for (let count = places.length - 1; count >= least; count--) {
      steps++;
      yield places[count] as number;
    }
  }
  ends(node, from).next();
  return steps;
}
