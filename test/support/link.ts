// A link to a server that can be lost: everything that passes through it stands still, in both directions, and
// nobody is told, as when a cable is pulled. What stood still goes on when it is mended.

import { createConnection, createServer, type Server, type Socket } from 'node:net';

export class Link {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #lost = false;
  #refuses = false;
  /** Connections that were refused. */
  refused = 0;

  private constructor(host: string, port: number) {
    this.#server = createServer(near => {
      if (this.#refuses) {
        this.refused++;
        near.destroy();
      } else this.#join(near, createConnection(port, host));
    });
  }

  /** Resolves once it listens. */
  static async to(url: string): Promise<Link> {
    const { hostname, port } = new URL(url);
    const link = new Link(hostname, Number(port));
    await new Promise<void>(resolve => link.#server.listen(0, '127.0.0.1', resolve));
    return link;
  }

  /** The address of the same thing through the link. */
  through(url: string): string {
    const address = this.#server.address();
    const found = new URL(url);
    found.hostname = '127.0.0.1';
    found.port = String(typeof address === 'object' ? address?.port : '');
    return found.href;
  }

  lose(): void {
    this.#lost = true;
    for (const socket of this.#sockets) socket.pause();
  }

  /** Whoever connects from now on is refused. */
  refuse(): void {
    this.#refuses = true;
  }

  mend(): void {
    this.#lost = false;
    this.#refuses = false;
    for (const socket of this.#sockets) socket.resume();
  }

  async close(): Promise<void> {
    const closed = new Promise<void>(resolve => this.#server.close(() => resolve()));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #join(near: Socket, far: Socket): void {
    this.#carry(near, far);
    this.#carry(far, near);
  }

  #carry(from: Socket, to: Socket): void {
    this.#sockets.add(from);
    from.setNoDelay(true);
    if (this.#lost) from.pause();
    from.on('data', (chunk: Buffer) => to.write(chunk));
    from.on('error', () => to.destroy());
    from.on('close', () => {
      this.#sockets.delete(from);
      to.destroy();
    });
  }
}
