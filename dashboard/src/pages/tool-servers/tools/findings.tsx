// What was found in a definition, by its place, with the text that stands there.

import { FoldedSigns, Signs } from '../../../components/signs.tsx';
import { Badge, type Tone } from '../../../components/text.tsx';
import type { ReviewedTool } from '../../../resources.ts';

type Finding = ReviewedTool['findings'][number];

/** The first two hold the tool. */
const KINDS: Record<Finding['kind'], [Tone, string]> = {
  hidden: ['deny', 'hidden characters'],
  shadows: ['deny', 'looks like another'],
  'mixed-script': ['pending', 'mixed scripts'],
  instructs: ['pending', 'addresses the model'],
  'annotation-lies': ['pending', 'annotation contradicts name'],
  url: ['plain', 'address'],
  long: ['plain', 'long'],
};

/** A badge for each kind. */
export function FindingBadges({ of: { findings } }: { of: ReviewedTool }) {
  const kinds = [...new Set(findings.map(({ kind }) => kind))];
  return (
    <>
      {kinds.map(kind => (
        <Badge key={kind} tone={KINDS[kind][0]}>
          {KINDS[kind][1]}
        </Badge>
      ))}
    </>
  );
}

export function Findings({ of: { findings, definition } }: { of: ReviewedTool }) {
  if (findings.length === 0) return null;
  return (
    <ul class="found">
      {[...Map.groupBy(findings, each => each.where)].map(([where, here]) => (
        <li key={where}>
          {here.map(({ kind, text }) => (
            <p key={kind + text}>
              <b class={KINDS[kind][0]}>{KINDS[kind][1]}:</b> <Signs text={text} />
            </p>
          ))}
          {where !== '' && (
            <p class="soft small">
              At{' '}
              <code>
                <Signs text={where} />
              </code>
            </p>
          )}
          <There text={textAt(definition, where)} />
        </li>
      ))}
    </ul>
  );
}

function There({ text }: { text: string | null }) {
  if (text === null) return null;
  return (
    <blockquote>
      <FoldedSigns text={text} />
    </blockquote>
  );
}

/** The description of the tool is shown anyway. */
const SHOWN = ['/name', '/description'];

/** The text at a JSON Pointer; null if there is none, or it is shown elsewhere. */
function textAt(definition: unknown, where: string): string | null {
  if (SHOWN.includes(where)) return null;
  let value = definition;
  for (const step of where.split('/').slice(1)) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return null;
    value = (value as Record<string, unknown>)[name];
  }
  return typeof value === 'string' ? value : null;
}
