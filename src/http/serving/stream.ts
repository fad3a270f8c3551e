// A response body that is made while the client reads it, so that only one page of a long list is in memory. A client may
// read slowly, so the sign-in is looked at again before each page; once it has ended, the body breaks off.

import { lookAgain } from './auth.ts';
import type { Incoming } from './route.ts';

/** `ended` is called when the client has read everything or has gone, or when the body breaks off. */
export function stream(
  { services, who }: Pick<Incoming<unknown, unknown>, 'services' | 'who'>,
  texts: AsyncGenerator<string>,
  ended: () => void = () => {},
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream({
    async pull(controller) {
      let isOver = true;
      try {
        const { value, done = false } = await texts.next();
        await lookAgain(services, who);
        isOver = done;
        if (done) controller.close();
        else controller.enqueue(encoder.encode(value));
      } finally {
        if (isOver) ended();
      }
    },
    async cancel() {
      ended();
      await texts.return(undefined);
    },
  });
}
