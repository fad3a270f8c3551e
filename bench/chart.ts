// Draws figures as bars into an SVG file, on an axis that begins at zero, with a mark for the target. It uses no
// library and no script, and its colours work on light and dark pages. charts.ts chooses the figures.

export interface Bar {
  label: string;
  kind: 'floor' | 'peer' | 'ours';
  value: number;
  /** Added to the bar in a lighter colour: what another process spends for the same request. */
  more?: number;
  /** The ends of the thin line. */
  from: number;
  to: number;
  /** The target: the value should not be larger. */
  wanted?: number | undefined;
  /** The text behind the bar. */
  told: string;
}

export interface Chart {
  title: string;
  /** Explains the axis, the thin line and the lighter part. */
  explained: string;
  unit: string;
  bars: Bar[];
}

const WIDTH = 900;
const LABEL = 330;
const TOLD = 190;
const ROW = 26;
const HEAD = 92;
const FOOT = 40;
const KINDS = { floor: 'floor', peer: 'peer', ours: 'Toolgate' } as const;

export function drawChart({ title, explained, unit, bars }: Chart): string {
  const height = HEAD + bars.length * ROW + FOOT;
  const most = Math.max(...bars.map(bar => Math.max(bar.value + (bar.more ?? 0), bar.to, bar.wanted ?? 0)));
  const step = niceStep(most);
  const x = (value: number) => Number((LABEL + ((WIDTH - LABEL - TOLD) * value) / most).toFixed(1));
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" role="img" aria-label="${escaped(title)}">
${STYLE}
<rect width="${WIDTH}" height="${height}" rx="6" class="page"/>
<text x="16" y="28" class="title">${escaped(title)}</text>
<text x="16" y="48" class="small">${escaped(explained)}</text>
${legend(bars)}
${axis(most, step, unit, height, x)}
${bars.map((bar, index) => row(bar, HEAD + index * ROW, x)).join('\n')}
</svg>
`;
}

export const STYLE = `<style>
  .page { fill: #ffffff }
  text { font: 13px system-ui, -apple-system, 'Segoe UI', sans-serif; fill: #1f2328 }
  .title { font-weight: 600; font-size: 16px }
  .small { font-size: 12px; fill: #59636e }
  .grid { stroke: #d1d9e0 }
  .zero { stroke: #59636e }
  .floor { fill: #8b949e }
  .peer { fill: #d4812c }
  .ours { fill: #2f6fdb }
  .more { fill: #a9c5f5 }
  .spread { stroke: #1f2328; stroke-width: 1.5 }
  .wanted { stroke: #c0263b; stroke-width: 2.5 }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117 }
    text { fill: #f0f6fc }
    .small { fill: #9198a1 }
    .grid { stroke: #2b323b }
    .zero { stroke: #9198a1 }
    .floor { fill: #7d8590 }
    .ours { fill: #4c8bf5 }
    .more { fill: #274b87 }
    .spread { stroke: #f0f6fc }
    .wanted { stroke: #ff6b7d }
  }
</style>`;

function legend(bars: readonly Bar[]): string {
  const kinds = (['floor', 'peer', 'ours'] as const).filter(kind => bars.some(bar => bar.kind === kind));
  const marks: [string, string][] = kinds.map(kind => [
    `<rect y="60" width="12" height="12" rx="2" class="${kind}"/>`,
    KINDS[kind],
  ]);
  if (bars.some(bar => bar.more !== undefined))
    marks.push(['<rect y="60" width="12" height="12" rx="2" class="more"/>', 'PostgreSQL for it']);
  if (bars.some(bar => bar.wanted !== undefined))
    marks.push(['<line x1="6" x2="6" y1="58" y2="74" class="wanted"/>', 'wanted, at most']);
  return marks
    .map(
      ([mark, word], index) =>
        `<g transform="translate(${16 + index * 140} 0)">${mark}<text x="18" y="71" class="small">${word}</text></g>`,
    )
    .join('\n');
}

function axis(
  most: number,
  step: number,
  unit: string,
  height: number,
  x: (value: number) => number,
): string {
  const [top, bottom] = [HEAD - 6, height - FOOT + 4];
  const ticks = Array.from({ length: Math.floor(most / step) + 1 }, (_, index) => index * step);
  const lines = ticks.map(
    value =>
      `<line x1="${x(value)}" x2="${x(value)}" y1="${top}" y2="${bottom}" class="${value === 0 ? 'zero' : 'grid'}"/>` +
      `<text x="${x(value)}" y="${bottom + 17}" text-anchor="middle" class="small">${Number(value.toFixed(3)).toLocaleString('en')}</text>`,
  );
  return [
    ...lines,
    `<text x="${x(most) + 14}" y="${bottom + 17}" class="small">${escaped(unit)}</text>`,
  ].join('\n');
}

/** One, two or five times a power of ten, so that there are four to nine steps. */
function niceStep(most: number): number {
  const power = 10 ** Math.floor(Math.log10(most / 4));
  return [1, 2, 5, 10].map(factor => factor * power).find(step => most / step <= 9) ?? power;
}

function row(bar: Bar, y: number, x: (value: number) => number): string {
  const end = bar.value + (bar.more ?? 0);
  const box = (from: number, to: number, name: string) =>
    `<rect x="${x(from)}" y="${y + 3}" width="${(x(to) - x(from)).toFixed(1)}" height="16" class="${name}"/>`;
  const furthest = Math.max(end, bar.to, bar.wanted ?? 0);
  return [
    `<text x="${LABEL - 10}" y="${y + 15}" text-anchor="end">${escaped(bar.label)}</text>`,
    box(0, bar.value, bar.kind),
    ...(bar.more === undefined ? [] : [box(bar.value, end, 'more')]),
    `<line x1="${x(bar.from)}" x2="${x(bar.to)}" y1="${y + 11}" y2="${y + 11}" class="spread"/>`,
    ...(bar.wanted === undefined
      ? []
      : [`<line x1="${x(bar.wanted)}" x2="${x(bar.wanted)}" y1="${y}" y2="${y + 22}" class="wanted"/>`]),
    `<text x="${x(furthest) + 8}" y="${y + 15}">${escaped(bar.told)}</text>`,
  ].join('\n');
}

export function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
