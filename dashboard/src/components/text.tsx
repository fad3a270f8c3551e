// Small pieces of text: names from outside, times, ids, states, something to copy. Stored values are shown as text,
// with invisible characters written out.

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { visible } from '../../../src/core/text/visible.ts';
import { inWords, now } from '../clock.ts';
import type { ApprovalStatus, Decision } from '../resources.ts';

/** A name or text that somebody else chose. */
export function Named({ text }: { text: string }) {
  return <bdi class="named">{visible(text)}</bdi>;
}

/** A tool's full name, which may wrap after the server's name. */
export function Tool({ serverName, toolName }: { serverName: string; toolName: string }) {
  return (
    <span class="mono tool">
      <Named text={serverName} />
      __
      <wbr />
      <Named text={toolName} />
    </span>
  );
}

const DAY = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' });
const YEAR = new Intl.DateTimeFormat(undefined, { year: 'numeric', month: 'short', day: 'numeric' });
const MINUTES = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const CLOCK = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' });

/** A time in the reader's zone, with the exact time in the title. The date is left out for today, and the seconds if `short`. */
export function Time({ at, short = false }: { at: string; short?: boolean }) {
  const moment = new Date(at);
  const today = new Date(now.peek());
  const day = moment.toDateString() === today.toDateString() ? '' : dayOf(moment, today);
  return (
    <time dateTime={at} title={at} class="time">
      {day !== '' && <span class="soft">{day} </span>}
      {(short ? MINUTES : CLOCK).format(moment)}
    </time>
  );
}

function dayOf(moment: Date, today: Date): string {
  return (moment.getFullYear() === today.getFullYear() ? DAY : YEAR).format(moment);
}

/** `3 min ago`, which updates itself. */
export function Ago({ at }: { at: string }) {
  const passed = now.value - Date.parse(at);
  return (
    <time dateTime={at} title={at} class="time">
      {passed < 1000 ? 'just now' : `${inWords(passed)} ago`}
    </time>
  );
}

/** `59 min 3 s left`, which updates itself; `ended` once the time has passed. */
export function Left({ until, ended = 'lapsed' }: { until: string; ended?: string }) {
  const left = Date.parse(until) - now.value;
  const tone = left < 5 * 60_000 ? 'time soon' : 'time';
  return (
    <time dateTime={until} title={until} class={tone}>
      {left <= 0 ? ended : `${inWords(left)} left`}
    </time>
  );
}

/** An id, shortened for display; the copy button copies all of it. */
export function Id({ id }: { id: string }) {
  return (
    <span class="id">
      <code title={id}>{id}</code>
      <Copy text={id} label="Copy id" />
    </span>
  );
}

export type Tone = 'allow' | 'deny' | 'pending' | 'plain' | 'accent';

/** A state in one word. */
export function Badge({ tone, children }: { tone: Tone; children: ComponentChildren }) {
  return <span class={`badge ${tone}`}>{children}</span>;
}

export function DecisionBadge({ decision }: { decision: Decision }) {
  return <Badge tone={decision}>{decision}</Badge>;
}

const STATUS: Record<ApprovalStatus, [Tone, string]> = {
  pending: ['pending', 'waiting'],
  approved: ['allow', 'approved'],
  denied: ['deny', 'denied'],
  timed_out: ['plain', 'timed out'],
  withdrawn: ['plain', 'withdrawn'],
};

export function StatusBadge({ status }: { status: ApprovalStatus }) {
  const [tone, word] = STATUS[status];
  return <Badge tone={tone}>{word}</Badge>;
}

const SAID_MS = 2000;

/** A button that copies; `label` is its name, which is shown only with `wide`. */
export function Copy({
  text,
  label = 'Copy',
  wide = false,
}: {
  text: string;
  label?: string;
  wide?: boolean;
}) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setDone(true);
    setTimeout(() => setDone(false), SAID_MS);
  };
  const word = done ? 'Copied' : label;
  return (
    <button type="button" class={wide ? 'copy plain small' : 'copy icon'} onClick={copy} title={word}>
      <svg viewBox="0 0 16 16" width="14" height="14" aria-hidden="true">
        <path d={done ? 'M3 8.5l3.2 3.2L13 5' : 'M6 5h7v8H6zM3.5 11V3h7'} />
      </svg>
      <span class={wide ? '' : 'unseen'}>{word}</span>
    </button>
  );
}
