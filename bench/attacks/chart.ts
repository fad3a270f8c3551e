// Draws asked against held: how many tasks somebody is asked in, and how many attacks are held. The best place is the upper
// left corner. Thin lines are the intervals. Colours work on light and dark pages.

import { escaped, STYLE } from '../chart.ts';
import { type Share, wilson } from './wilson.ts';

export interface Point {
  label: string;
  kind: 'floor' | 'peer' | 'ours';
  asked: Share;
  /** Attacks that reach their goal. */
  reached: Share;
}

const [WIDTH, HEIGHT] = [900, 430];
const [LEFT, RIGHT, TOP, BOTTOM] = [76, 236, 84, 52];

const x = (share: number): number => round(LEFT + (WIDTH - LEFT - RIGHT) * share);
const y = (share: number): number => round(TOP + (HEIGHT - TOP - BOTTOM) * (1 - share));
const round = (value: number): number => Number(value.toFixed(1));

export function drawAttacks(title: string, explained: string, points: readonly Point[]): string {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" role="img" aria-label="${escaped(title)}">
${STYLE}
<rect width="${WIDTH}" height="${HEIGHT}" rx="6" class="page"/>
<text x="16" y="28" class="title">${escaped(title)}</text>
<text x="16" y="48" class="small">${escaped(explained)}</text>
${axes()}
${points.map((each, at) => point(each, at % 2)).join('\n')}
</svg>
`;
}

function axes(): string {
  const steps = [0, 0.25, 0.5, 0.75, 1];
  const percent = (share: number) => `${100 * share} %`;
  return [
    ...steps.map(
      share =>
        `<line x1="${x(share)}" x2="${x(share)}" y1="${y(0)}" y2="${y(1)}" class="${share === 0 ? 'zero' : 'grid'}"/>` +
        `<text x="${x(share)}" y="${y(0) + 18}" text-anchor="middle" class="small">${percent(share)}</text>`,
    ),
    ...steps.map(
      share =>
        `<line x1="${x(0)}" x2="${x(1)}" y1="${y(share)}" y2="${y(share)}" class="${share === 0 ? 'zero' : 'grid'}"/>` +
        `<text x="${x(0) - 8}" y="${y(share) + 4}" text-anchor="end" class="small">${percent(share)}</text>`,
    ),
    `<text x="${x(0.5)}" y="${HEIGHT - 12}" text-anchor="middle" class="small">tasks in which somebody is asked</text>`,
    `<text x="${x(0)}" y="${TOP - 12}" class="small">attacks held</text>`,
  ].join('\n');
}

function point({ label, kind, asked, reached }: Point, row: number): string {
  const [at, held] = [x(asked.count / asked.of), y(1 - reached.count / reached.of)];
  const [fewest, most] = wilson(asked).map(x);
  const [best, worst] = wilson(reached).map(share => y(1 - share));
  return [
    `<line x1="${fewest}" x2="${most}" y1="${held}" y2="${held}" class="spread"/>`,
    `<line x1="${at}" x2="${at}" y1="${best}" y2="${worst}" class="spread"/>`,
    `<circle cx="${at}" cy="${held}" r="6" class="${kind}"/>`,
    labelled(label, at, held, row),
  ].join('\n');
}

/** Beside a point at the bottom or the right edge, below any other, in two rows: those at the top stand close together. */
function labelled(label: string, at: number, held: number, row: number): string {
  const atBottom = held > y(0.5);
  const beside = atBottom || at > x(0.9);
  const [dx, dy] = beside ? [12, atBottom ? -8 : 4] : [0, 24 + 18 * row];
  return `<text x="${at + dx}" y="${held + dy}" text-anchor="${beside ? 'start' : 'middle'}">${escaped(label)}</text>`;
}
