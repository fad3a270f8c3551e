// Draws figures as bars into an SVG file: one bar per line of the report, with its spread. No library, no script, and
// colours that hold on light and dark pages.

export interface Bar {
  label: string;
  value: number;
  min: number;
  max: number;
}

const WIDTH = 860;
const LABEL = 330;
const ROW = 26;
const HEAD = 46;

export function barChart(title: string, unit: string, bars: readonly Bar[]): string {
  const height = HEAD + bars.length * ROW + 12;
  const most = Math.max(...bars.map(bar => bar.max), 1);
  const scale = (value: number) => ((WIDTH - LABEL - 110) * value) / most;
  const rows = bars.map((bar, index) => {
    const y = HEAD + index * ROW;
    const end = LABEL + scale(bar.value);
    return [
      `<text x="${LABEL - 10}" y="${y + 14}" text-anchor="end">${escaped(bar.label)}</text>`,
      `<rect x="${LABEL}" y="${y + 2}" width="${scale(bar.value).toFixed(1)}" height="16" rx="2" class="bar"/>`,
      `<line x1="${(LABEL + scale(bar.min)).toFixed(1)}" x2="${(LABEL + scale(bar.max)).toFixed(1)}" y1="${y + 10}" y2="${y + 10}" class="spread"/>`,
      `<text x="${(Math.max(end, LABEL + scale(bar.max)) + 6).toFixed(1)}" y="${y + 14}">${bar.value.toFixed(1)}</text>`,
    ].join('\n');
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${escaped(title)}">
<style>
  text { font: 13px system-ui, sans-serif; fill: #57606a }
  .title { font-weight: 600; font-size: 15px }
  .bar { fill: #4c8bf5 }
  .spread { stroke: #8c6d1f; stroke-width: 2 }
  @media (prefers-color-scheme: dark) { text { fill: #b6bec8 } .spread { stroke: #f0c75e } }
</style>
<text x="10" y="24" class="title">${escaped(title)} (${escaped(unit)}; the line is the spread over the rounds)</text>
${rows.join('\n')}
</svg>
`;
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
}
