# planwrightd and the planwright program on Debian 12:
#   docker build --tag planwright .
#   docker run --rm planwright planwright plan --graph=zoo:bert-large --cluster=zoo:pcie:4
# The server listens on loopback unless it is told otherwise (docs/operations.md).
ARG BASE=debian:bookworm-slim

FROM ${BASE} AS build
WORKDIR /src
COPY deploy/setup.sh deploy/setup.sh
RUN deploy/setup.sh build pages
COPY . .
RUN cmake --preset release -DPLANWRIGHT_BUILD_TESTS=OFF -DPLANWRIGHT_BUILD_BENCHMARKS=OFF \
 && cmake --build --preset release --parallel "$(nproc)" --target planwrightd planwright planwright-webhook \
 && strip build/release/bin/planwrightd build/release/bin/planwright build/release/bin/planwright-webhook \
      build/release/bin/planwright-onnx

FROM ${BASE}
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends \
      ca-certificates coinor-libcbc3 libcurl4 libgrpc++1.51 libjemalloc2 libmicrohttpd12 libonnx1 libpqxx-6.4 libprometheus-cpp-core1.0 \
      libpugixml1v5 libscotch-7.0 libsqlite3-0 libtbb12 libyaml-cpp0.7 \
 && rm -rf /var/lib/apt/lists/*
COPY --from=build /src/build/release/bin/planwrightd /src/build/release/bin/planwright \
  /src/build/release/bin/planwright-webhook /src/build/release/bin/planwright-onnx /usr/local/bin/
COPY LICENSE /usr/share/doc/planwright/LICENSE
# Nobody in particular: numeric, so that Kubernetes can see that it is not root.
USER 65532:65532
# The image has no place to keep things: name a volume (sqlite:/var/lib/planwright/planwright.db) or a PostgreSQL.
ENV PLANWRIGHT_STORE=none
EXPOSE 50051 9464
CMD ["planwrightd"]
