# An S3 server that heeds conditions, with one bucket: folders of /data are buckets. Its version is that of the tests.
#   docker build --file docker/s3.Dockerfile --tag odf-s3 .
FROM golang:1.26-bookworm AS build
RUN go install github.com/versity/versitygw/cmd/versitygw@v1.8.0

FROM debian:bookworm-slim
COPY --from=build /go/bin/versitygw /usr/local/bin/versitygw
RUN install --directory --owner=50000 --group=0 /data /data/odf
USER 50000:0
ENTRYPOINT ["versitygw"]
CMD ["--port", ":7070", "posix", "/data"]
