// Measures the detectors and writes the figures into docs/results.md: how much of what is drawn they find, and in how many
// ordinary texts they find what is not there. It takes about half a minute.

import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DETECTOR_NAMES } from '../src/core/detectors/detectors.ts';
import { findSecrets } from '../src/core/detectors/secrets.ts';
import { type DRAWN, shareFound } from '../test/core/detectors/drawn.ts';
import { made, marked, seeded, VECTORS } from '../test/core/detectors/made.ts';
import { countDrawn, countPackaged } from '../test/core/detectors/ordinary.ts';

const ROUNDS = 2_000;
const PAGE = join(import.meta.dir, '../docs/results.md');
/** Rounded down, so that 100 % means all. */
const percent = (share: number) => `${(Math.floor(share * 10_000) / 100).toFixed(2)} %`;
const thousands = (count: number) => String(count).replace(/\B(?=(\d{3})+$)/g, ',');

/** How many secrets were drawn and found, and how many texts that only look like one were taken for one. */
function secrets() {
  const random = seeded(5);
  const all = { drawn: 0, found: 0, unlike: 0, taken: 0, least: 1, leastOf: '' };
  for (const { name, found, not } of VECTORS) {
    let drawn = 0;
    let seen = 0;
    for (let round = 0; round < ROUNDS; round++) {
      for (const form of found) {
        const { text, finds } = marked(made(form, random));
        const got = findSecrets(text).map(({ from, to }) => text.slice(from, to));
        drawn += finds.length;
        seen += finds.filter(({ from, to }) => got.includes(text.slice(from, to))).length;
      }
      for (const form of not) {
        all.unlike++;
        if (findSecrets(marked(made(form, random)).text).length > 0) all.taken++;
      }
    }
    all.drawn += drawn;
    all.found += seen;
    if (seen / drawn < all.least) Object.assign(all, { least: seen / drawn, leastOf: name });
  }
  return all;
}

const measured = secrets();
const drawn = countDrawn(14_000);
const packaged = countPackaged(1);
const commit = execFileSync('git', ['rev-parse', '--short=8', 'HEAD'], { encoding: 'utf8' }).trim();
const date = new Date().toISOString().slice(0, 10);

const rows = DETECTOR_NAMES.map(name => {
  const share =
    name === 'secrets'
      ? measured.found / measured.drawn
      : shareFound(name as keyof typeof DRAWN, 20 * ROUNDS);
  const count = name === 'secrets' ? measured.drawn : 20 * ROUNDS;
  const mistaken = packaged.mistaken[name];
  return `| \`${name}\` | ${thousands(count)} | ${percent(share)} | ${mistaken} (${(Math.ceil((10_000 * mistaken) / packaged.texts) / 100).toFixed(2)} %) | ${drawn.mistaken[name]} |`;
});

const figures = `
Measured on ${date} at commit ${commit}.

| Detector | Drawn | Found | Of ${thousands(packaged.texts)} texts of packages, with a mistake | Of ${thousands(drawn.texts)} drawn texts |
|---|---|---|---|---|
${rows.join('\n')}

Of the formats of secrets, ${measured.leastOf === '' ? 'all were found each time' : `${measured.leastOf} was found least often: ${percent(measured.least)}`}. Of ${thousands(measured.unlike)} texts that
only look like a secret (another checksum, one character less or more, inside a longer word, a placeholder), ${measured.taken} were taken for one.

`;

const page = readFileSync(PAGE, 'utf8');
writeFileSync(
  PAGE,
  page.replace(/(<!-- figures: .*? -->\n).*(<!-- \/figures -->)/s, (_, begin, end) => begin + figures + end),
);
