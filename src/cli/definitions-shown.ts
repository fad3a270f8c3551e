// Prints definitions of tools for people who decide whether to accept them. They are texts of strangers: whatever is not
// seen in them, or would control the terminal, is written out.

import type { ReviewedTool } from '../core/api/resources.ts';
import { visible } from '../core/text/visible.ts';
import type { IO } from './io.ts';
import { time } from './print.ts';

/** A tool with all that helps to judge it: its findings, its definition or what changed in it, and the digest. */
export function showTool(io: IO, tool: ReviewedTool): void {
  const lines = [
    io.stdout.style('bold', visible(tool.name)),
    ...findingLines(io, tool),
    ...(tool.difference === null ? definitionLines(tool) : differenceLines(io, tool.difference)),
    `digest ${tool.digest}`,
  ];
  io.stdout.write(`${lines.join('\n')}\n\n`);
}

export function findingLines(io: IO, { findings }: ReviewedTool): string[] {
  return findings.map(({ kind, where, text }) => {
    const place = where === '' ? '' : ` at ${visible(where)}`;
    return `${io.stdout.style('yellow', `${kind}${place}`)}: ${visible(text)}`;
  });
}

function definitionLines({ definition }: ReviewedTool): string[] {
  return JSON.stringify(definition, null, 2).split('\n').map(visible);
}

const COLOURS = { ' ': 'reset', '-': 'red', '+': 'green' } as const;

export function differenceLines(io: IO, difference: NonNullable<ReviewedTool['difference']>): string[] {
  return difference.map(each =>
    'count' in each
      ? `… ${each.count} ${each.count === 1 ? 'line' : 'lines'}`
      : io.stdout.style(COLOURS[each.mark], `${each.mark} ${visible(each.text)}`),
  );
}

/** Who accepted which definition, in a few words. */
export function acceptedBy({ accepted, digest }: ReviewedTool): string {
  if (accepted === null) return 'nobody';
  const by = accepted.by === 'first' ? 'as first seen' : visible(accepted.by);
  const at = accepted.at === null ? '' : `, ${time(accepted.at)}`;
  return accepted.digest === digest ? by + at : `an earlier one: ${by}${at}`;
}

/** Whether neither a person nor a lock file has accepted the present definition. */
export function isUnaccepted({ accepted, digest }: ReviewedTool): boolean {
  return accepted === null || accepted.by === 'first' || accepted.digest !== digest;
}
