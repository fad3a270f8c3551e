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
  /**
   * Gives `next` each place at which the node can end, in the order in which a search tries them, until it says that one
   * will do. With generators, the millions of steps that the tests count took four times as long.
   */
  const ends = (node: Node, at: number, next: (end: number) => boolean): boolean => {
    steps++;
    switch (node.kind) {
      case 'one':
        return at < text.length && node.takes.test(text[at] as string) && next(at + 1);
      case 'any':
        return node.ways.some(way => ends(way, at, next));
      case 'not next':
        return !ends(node.of, at, () => true) && next(at);
      case 'all':
        return row(node.parts, 0, at, next);
      case 'times':
        return times(node, at, next);
    }
  };
  const row = (parts: Node[], index: number, at: number, next: (end: number) => boolean): boolean =>
    index === parts.length
      ? next(at)
      : ends(parts[index] as Node, at, end => row(parts, index + 1, end, next));
  /** What is repeated takes one character, or is short: the longest row of it first, then shorter ones. */
  const times = (
    { of, least, most }: Node & { kind: 'times' },
    at: number,
    next: (end: number) => boolean,
  ): boolean => {
    const places = [at];
    let end = at;
    const takeFirst = (first: number) => {
      end = first;
      return true;
    };
    while (places.length <= most && ends(of, end, takeFirst) && end !== places.at(-1)) places.push(end);
    for (let count = places.length - 1; count >= least; count--) {
      steps++;
      if (next(places[count] as number)) return true;
    }
    return false;
  };
  ends(node, from, () => true);
  return steps;
}
