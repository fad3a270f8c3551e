# Toolgate as one program on a bare system. Build: docker build -t toolgate .
# Run: docker run --stop-timeout 30 -p 127.0.0.1:8787:8787 -v toolgate:/data toolgate

# Images are pinned by digest: the tag beside it only tells people which one it is.
FROM node:22.23.3-bookworm-slim@sha256:43ac6c60b8f89723f746e8a92ce91abd5017e627ce1ddfe4238355d3a30b772c AS build
WORKDIR /build
COPY package.json package-lock.json ./
RUN npm ci --omit=dev --no-audit --no-fund
COPY . .
RUN npm run build -- executable

# Debian rather than an image without a shell: Connected Tools over stdio are started through /bin/sh.
FROM debian:bookworm-20260824-slim@sha256:88200866dfff7ea7f5cbcb6ec7c8a701889efe6fe859fe64d6990e4b07ea4171
RUN apt-get update \
 && apt-get install -y --no-install-recommends tini \
 && rm -rf /var/lib/apt/lists/*
RUN groupadd --gid 8787 toolgate \
 && useradd --uid 8787 --gid 8787 --home-dir /data --no-create-home --shell /usr/sbin/nologin toolgate \
 && install -d -o toolgate -g toolgate -m 0700 /data
COPY --from=build /build/dist/toolgate /usr/local/bin/toolgate
COPY --from=build /build/dist/THIRD-PARTY.txt /build/LICENSE /usr/share/doc/toolgate/
# By number: Kubernetes believes no name when a pod must not run as root.
USER 8787:8787
WORKDIR /data
VOLUME /data
# Inside the container every interface; what reaches it is decided by the published port.
# Docker keeps what a container prints, also on a terminal. The first key: docker exec <container> cat /data/printed-secrets.txt
ENV TOOLGATE_HOST=0.0.0.0 TOOLGATE_DATA_DIR=/data TOOLGATE_PRINT_SECRETS=never
EXPOSE 8787
HEALTHCHECK --interval=5s --timeout=5s --start-period=10s CMD ["toolgate", "health"]
STOPSIGNAL SIGTERM
# An init: what the commands of stdio servers leave behind becomes a child of the first process, which has to wait for it.
# With -s this works also where the container has another first process (docker run --init).
ENTRYPOINT ["tini", "-s", "--", "toolgate"]
CMD ["serve"]
