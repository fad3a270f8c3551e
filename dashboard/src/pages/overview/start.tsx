// The first steps with Toolgate, each of which ticks itself. The list goes away when all are done, or when somebody
// dismisses it; the browser remembers that, and then nothing is asked of the service any more.

import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { announce } from '../../announce.ts';
import { Panel } from '../../components/page.tsx';
import { mayAdminister, me } from '../../session.ts';
import { type StepId, useSteps } from './steps.ts';

const STORED = 'toolgate-start';
const isOver = signal(localStorage.getItem(STORED) === 'over');

function end(): void {
  localStorage.setItem(STORED, 'over');
  isOver.value = true;
}

/** Only admins can do the steps. */
export function Start() {
  return isOver.value || !mayAdminister.value ? null : <Checklist />;
}

function Checklist() {
  const done = useSteps();
  const left = done === null ? null : STEPS.filter(({ id }) => !done.has(id)).length;
  useEffect(() => {
    if (left === 0) end();
  }, [left]);
  if (done === null || left === null || left === 0) return null;
  const dismiss = () => {
    end();
    announce('The first steps are not shown any more in this browser.');
  };
  return (
    <Panel
      title={`First steps: ${STEPS.length - left} of ${STEPS.length} done`}
      aside={
        <button type="button" class="plain small" onClick={dismiss}>
          Dismiss
        </button>
      }
    >
      <ol class="checklist">
        {STEPS.map(step => (
          <Step key={step.id} {...step} isDone={done.has(step.id)} />
        ))}
      </ol>
    </Panel>
  );
}

interface StepProps {
  id: StepId;
  name: string;
  about: () => ComponentChildren;
}

function Step({ name, about, isDone }: StepProps & { isDone: boolean }) {
  return (
    <li class={isDone ? 'done' : undefined}>
      <span class="tick" aria-hidden="true">
        {isDone && '✓'}
      </span>
      <span>
        <b>{name}</b>
        {isDone ? <span class="unseen"> (done)</span> : '.'}
        {!isDone && <span class="soft"> {about()}</span>}
      </span>
    </li>
  );
}

const STEPS: StepProps[] = [
  {
    id: 'operator',
    name: 'Create the first operator',
    about: () => (
      <>
        That is you, {me.value.email}. <a href="/dashboard/operators">Invite others</a>.
      </>
    ),
  },
  {
    id: 'policy',
    name: 'Write a policy of your own',
    about: () => (
      <>
        Its rules say which calls are allowed, denied, or wait for a person.{' '}
        <a href="/dashboard/policies">Change the first one</a>, or{' '}
        <a href="/dashboard/policies/new">write another</a>.
      </>
    ),
  },
  {
    id: 'key',
    name: 'Make a key for an agent',
    about: () => (
      <>
        <a href="/dashboard/keys?new">Make one</a>: it is shown once.
      </>
    ),
  },
  {
    id: 'client',
    name: 'Connect a client',
    about: () => (
      <>
        <code>toolgate connect</code> does it for most agents; a <a href="/dashboard/keys?new">new key</a>{' '}
        comes with the command.
      </>
    ),
  },
  {
    id: 'call',
    name: 'Make the first call',
    about: () => (
      <>
        It appears in the <a href="/dashboard/audit">audit log</a> as soon as it is decided.
      </>
    ),
  },
  {
    id: 'approval',
    name: 'Answer the first approval',
    about: () => (
      <>
        Give a tool the action <code>require_approval</code>, let the agent call it, and answer under{' '}
        <a href="/dashboard/approvals">Approvals</a>.
      </>
    ),
  },
  {
    id: 'webhook',
    name: 'Register a webhook',
    about: () => (
      <>
        Another program can learn what waits and what was answered:{' '}
        <a href="/dashboard/webhooks">register its address</a>.
      </>
    ),
  },
];
