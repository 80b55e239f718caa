# planwrightd and the planwright program on Debian 12:
#   docker build --tag planwright .
#   docker run --rm planwright planwright plan --graph=zoo:bert-large --cluster=zoo:pcie:4
# The server listens on loopback unless it is told otherwise (docs/operations.md).
ARG BASE=debian:bookworm-slim

FROM ${BASE} AS build
# Where it is compiled: objects that ccache has are those of the same place (deploy/check-image.sh).
ARG SOURCE=/src
WORKDIR ${SOURCE}
COPY deploy/setup.sh deploy/setup.sh
RUN deploy/setup.sh build pages
COPY . .
RUN cmake --preset release -DPLANWRIGHT_BUILD_TESTS=OFF -DPLANWRIGHT_BUILD_BENCHMARKS=OFF \
 && cmake --build --preset release --parallel "$(nproc)" --target planwrightd planwright planwright-webhook \
 && mkdir /programs \
 && for program in planwrightd planwright planwright-webhook planwright-onnx; do \
      strip -o "/programs/$program" "build/release/bin/$program"; done

FROM ${BASE}
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends \
      ca-certificates coinor-libcbc3 curl jq libcurl4 libgrpc++1.51 libjemalloc2 libmicrohttpd12 libonnx1 libpqxx-6.4 libprometheus-cpp-core1.0 \
      libpugixml1v5 libscotch-7.0 libsqlite3-0 libtbb12 libyaml-cpp0.7 libzip4 \
 && rm -rf /var/lib/apt/lists/*
COPY --from=build /programs/ /usr/local/bin/
# The inventory of nodes (docs/kubernetes.md), which calls curl and jq.
COPY deploy/kubernetes/inventory.sh deploy/kubernetes/inventory.jq /usr/local/lib/planwright/
COPY LICENSE /usr/share/doc/planwright/LICENSE
# Nobody in particular: numeric, so that Kubernetes can see that it is not root.
USER 65532:65532
# The image has no place to keep things: name a volume (sqlite:/var/lib/planwright/planwright.db) or a PostgreSQL.
ENV PLANWRIGHT_STORE=none
EXPOSE 50051 9464
CMD ["planwrightd"]
